// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/config/core_options.hpp"

namespace tessera {

extern const char* const k_core_options_json;  // embedded by CMake from options.json

namespace {

using Json = nlohmann::ordered_json;

class RowReader {
 public:
  RowReader(const Json& row, std::string_view owner) : row_(row), owner_(owner) {}

  Option option() {
    if (!row_.is_object()) fail("is not an object");
    Option option;
    option.owner = owner_;
    option.name = name_ = text("name");
    option.type = one_of<OptionType>("type", 9, {});
    option.fallback = scalar("default");
    option.text = text("text");
    option.level = one_of<OptionLevel>("level", 3, "user");
    option.ranks = one_of_ranks();
    if (row_.contains("choices")) option.choices = row_.at("choices").get<std::vector<std::string>>();
    if (row_.contains("available")) option.available = row_.at("available").get<std::vector<std::string>>();
    if (row_.contains("min")) option.min = row_.at("min").get<double>();
    if (row_.contains("max")) option.max = row_.at("max").get<double>();
    if (row_.contains("used_when")) option.used_when = text("used_when");
    if (row_.contains("aliases")) add_aliases(option);
    check(option);
    return option;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorKind::configuration,
                fmt::format("options of {}: {} {}", owner_, name_.empty() ? "a row" : name_, what),
                "The form of options.json is described at parse_options in core/config/core_options.hpp.");
  }

  std::string text(const char* field) const {
    if (!row_.contains(field) || !row_.at(field).is_string()) fail(fmt::format("needs a text field \"{}\"", field));
    return row_.at(field).get<std::string>();
  }

  std::string scalar(const char* field) const {
    if (!row_.contains(field)) fail(fmt::format("needs a field \"{}\"", field));
    const Json& value = row_.at(field);
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
    if (!value.is_number()) fail(fmt::format("has a \"{}\" that is neither text, number nor boolean", field));
    return value.dump();
  }

  template <class Enum>
  Enum one_of(const char* field, int count, std::string_view fallback) const {
    const std::string word = fallback.empty() || row_.contains(field) ? text(field) : std::string(fallback);
    for (int i = 0; i < count; ++i)
      if (name_of(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
    fail(fmt::format("has an unknown {} \"{}\"", field, word));
  }

  OptionRanks one_of_ranks() const {
    const std::string word = row_.contains("ranks") ? text("ranks") : "equal";
    if (word != "equal" && word != "local") fail(fmt::format("has an unknown ranks \"{}\"", word));
    return word == "equal" ? OptionRanks::equal : OptionRanks::local;
  }

  void add_aliases(Option& option) const {
    for (const Json& entry : row_.at("aliases")) {
      const auto alias = entry.get<std::string>();
      const std::size_t equals = alias.find('=');
      if (equals == std::string::npos)
        option.aliases.push_back({.flag = alias});
      else
        option.aliases.push_back({.flag = alias.substr(0, equals), .value = alias.substr(equals + 1)});
    }
  }

  void check(const Option& option) const {
    for (const auto& [field, value] : row_.items()) {
      constexpr std::array<std::string_view, 12> known{"name", "type", "default", "text",  "choices", "available",
                                                       "min",  "max",  "level",   "ranks", "aliases", "used_when"};
      if (std::find(known.begin(), known.end(), field) == known.end())
        fail(fmt::format("has an unknown field \"{}\"", field));
    }
    if (option.type == OptionType::choice && option.choices.empty()) fail("is a choice without \"choices\"");
    if (!option.used_when.empty() && !Condition::parse(option.used_when)) fail("has a \"used_when\" without \"=\"");
    for (char c : option.name)
      if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '.' && c != '-')
        fail("has a name that is not \"section.key\" in small letters");
  }

  const Json& row_;
  std::string_view owner_;
  std::string name_;
};

}  // namespace

std::vector<Option> parse_options(std::string_view json, std::string_view owner) {
  std::vector<Option> options;
  try {
    for (const Json& row : Json::parse(json)) options.push_back(RowReader(row, owner).option());
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::configuration, fmt::format("options of {}: {}", owner, error.what()),
                "The form of options.json is described at parse_options in core/config/core_options.hpp.");
  }
  return options;
}

const std::vector<Option>& core_options() {
  static const std::vector<Option> options = parse_options(k_core_options_json, "core");
  return options;
}

}  // namespace tessera
