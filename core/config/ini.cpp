// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <sstream>

#include "core/config/sources.hpp"
#include "core/config/value.hpp"

namespace tessera {

namespace {

/// Stands for "#" while the text goes through Boost, which would take it for a comment wherever it stands.
constexpr char k_hash = '\x1a';

/// The text as Boost's reader can take it without losing anything: comments and faulty lines are blank, values are
/// bare. Boost reports neither lines nor more than one fault, so both are kept here.
class Preparation {
 public:
  Preparation(std::string_view path, std::vector<Problem>& problems) : path_(path), problems_(problems) {}

  void add_line(std::string_view line) {
    ++number_;
    line = trimmed(line);
    if (line.empty() || begins_comment(line.front())) return;
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; };
    if (std::any_of(line.begin(), line.end(), is_control))
      return fault("there is a control character in this line", {});
    if (line.front() == '[') return add_section(line);
    const std::size_t equals = line.find('=');
    const std::string_view key = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || key.empty() || key.find_first_of(" \t\"#") != std::string_view::npos)
      return fault("this is neither [section] nor key = value", "A comment line begins with # or ;.");
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (value.starts_with('"')) return add_quoted(key, value);
    const std::size_t comment = comment_start(value);
    add(key, trimmed(value.substr(0, comment)));
  }

  const std::string& text() const { return text_; }
  int line_of(std::size_t value) const { return lines_[value]; }
  std::size_t size() const { return lines_.size(); }

 private:
  void add_section(std::string_view line) {
    const std::size_t end = line.find(']');
    const std::string_view name = trimmed(line.substr(1, end == std::string_view::npos ? end : end - 1));
    const std::string_view rest = end == std::string_view::npos ? "" : trimmed(line.substr(end + 1));
    const bool comment = rest.empty() || begins_comment(rest.front());
    if (end == std::string_view::npos || name.empty() || !comment ||
        name.find_first_of(" \t.=#") != std::string_view::npos)
      return fault("this is no section", "A section is one word in brackets, as in [train].");
    text_ += fmt::format("[{}]\n", name);
    in_section_ = true;
  }

  static bool begins_comment(char c) { return c == '#' || c == ';'; }

  /// The first # or ; with nothing or white space before it.
  static std::size_t comment_start(std::string_view value) {
    for (std::size_t at = 0; at < value.size(); ++at)
      if (begins_comment(value[at]) && (at == 0 || value[at - 1] == ' ' || value[at - 1] == '\t')) return at;
    return value.size();
  }

  void add_quoted(std::string_view key, std::string_view value) {
    const std::size_t end = value.find('"', 1);
    const std::string_view rest = end == std::string_view::npos ? "" : trimmed(value.substr(end + 1));
    if (end == std::string_view::npos || (!rest.empty() && !begins_comment(rest.front())))
      return fault("a quoted value ends with the line, and only a comment may follow", {});
    add(key, value.substr(1, end - 1));
  }

  void add(std::string_view key, std::string_view value) {
    if (!in_section_) return fault(fmt::format("{} stands before the first [section]", key), {});
    std::string safe(value);
    for (char& c : safe)
      if (c == '#') c = k_hash;
    text_ += fmt::format("{}={}\n", key, safe);
    lines_.push_back(number_);
  }

  void fault(std::string what, std::string hint) {
    problems_.push_back({std::move(what), fmt::format("{}:{}", path_, number_), std::move(hint)});
  }

  std::string_view path_;
  std::vector<Problem>& problems_;
  std::string text_;
  std::vector<int> lines_;  ///< of each value
  int number_ = 0;
  bool in_section_ = false;
};

}  // namespace

std::vector<Raw> read_ini(std::string_view text, std::string_view path, std::vector<Problem>& problems,
                          Origin::From from) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  Preparation preparation(path, problems);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    preparation.add_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  std::istringstream stream(preparation.text());
  const boost::program_options::options_description none;
  const auto parsed = boost::program_options::parse_config_file(stream, none, true);
  TESSERA_CHECK(parsed.options.size() == preparation.size(),
                fmt::format("{} of {} values", parsed.options.size(), preparation.size()));
  std::vector<Raw> raws;
  for (const auto& option : parsed.options) {
    std::string value = option.value.empty() ? std::string() : option.value.front();
    for (char& c : value)
      if (c == k_hash) c = '#';
    raws.push_back(
        {option.string_key, std::move(value), {from, fmt::format("{}:{}", path, preparation.line_of(raws.size()))}});
  }
  return raws;
}

}  // namespace tessera
