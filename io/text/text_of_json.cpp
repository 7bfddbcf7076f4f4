// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/text/text_of_json.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace tessera::io {
namespace {

using Json = nlohmann::json;

/// Listens to the parser and keeps the value of one key of the outermost object.
class Listener final : public nlohmann::json_sax<Json> {
 public:
  explicit Listener(std::string_view wanted) : wanted_(wanted) {}

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("true or false"); }
  bool number_integer(number_integer_t) override { return other("a number"); }
  bool number_unsigned(number_unsigned_t) override { return other("a number"); }
  bool number_float(number_float_t, const string_t&) override { return other("a number"); }
  bool binary(binary_t&) override { return other("binary"); }
  bool start_array(std::size_t) override { return open("an array"); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t) override {
    if (depth_ == 0) object_ = true;
    return open("an object");
  }
  bool end_object() override { return close(); }

  bool key(string_t& name) override {
    if (depth_ == 1) expecting_ = name == wanted_;
    return true;
  }

  bool string(string_t& value) override {
    if (expecting_ && depth_ == 1) {
      text_ = std::move(value);
      kind_ = {};
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    why_ = fmt::format("no valid JSON at byte {} of the line", position);
    return false;
  }

  /// After parsing.
  std::optional<std::string> result(std::string& why) {
    if (why_.empty() && !object_) why_ = "not an object";
    if (why_.empty() && !kind_.empty()) why_ = fmt::format("'{}' is {}, not a string", wanted_, kind_);
    if (why_.empty() && !text_) why_ = fmt::format("no key '{}'", wanted_);
    why = why_;
    return why_.empty() ? std::move(text_) : std::nullopt;
  }

 private:
  bool other(std::string_view kind) {
    if (expecting_ && depth_ == 1) kind_ = kind;
    return true;
  }
  bool open(std::string_view kind) {
    other(kind);
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  std::string_view wanted_;
  int depth_ = 0;
  bool object_ = false;
  bool expecting_ = false;  ///< the value that comes at depth 1 is the wanted one
  std::optional<std::string> text_;
  std::string_view kind_;  ///< of a value that is not a string
  std::string why_;
};

}  // namespace

std::optional<std::string> text_of_json(std::string_view line, std::string_view key, std::string& why) {
  Listener listener(key);
  Json::sax_parse(line.begin(), line.end(), &listener);
  return listener.result(why);
}

}  // namespace tessera::io
