// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/value.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

namespace {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
  return result;
}

/// Length of the number at the start of the text: digits and a point.
std::size_t number_length(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789."), text.size());
}

std::string joined(const std::vector<std::string>& items, std::string_view separator) {
  std::string result;
  for (const std::string& item : items) result += (result.empty() ? "" : std::string(separator)) + item;
  return result;
}

ParsedValue must_be(std::string_view what, std::string_view text, std::string hint) {
  return {.value = std::nullopt, .problem = fmt::format("must be {}, not '{}'", what, text), .hint = std::move(hint)};
}

std::string range_of(const Option& option) {
  if (std::isinf(option.max)) return fmt::format("at least {}", option.min);
  if (std::isinf(option.min)) return fmt::format("at most {}", option.max);
  return fmt::format("from {} to {}", option.min, option.max);
}

/// Digits, perhaps more than a number can hold.
bool is_whole(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

template <class T>
ParsedValue in_range(const Option& option, std::string_view text, T number) {
  const auto real = static_cast<double>(number);
  if (real >= option.min && real <= option.max) return {.value = OptionValue(number), .problem = {}, .hint = {}};
  return must_be(range_of(option), text, {});
}

ParsedValue parse_choice(const Option& option, std::string_view text) {
  if (std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end())
    return {.value = OptionValue(std::string(text)), .problem = {}, .hint = {}};
  return must_be("one of " + joined(option.choices, ", "), text, {});
}

ParsedValue parse_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    if (item.empty()) return must_be("a list such as 'a, b', without empty places", text, {});
    items.emplace_back(item);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return {.value = OptionValue(std::move(items)), .problem = {}, .hint = {}};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view k_space = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_space) - first + 1);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_number<std::int64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  const std::optional<double> number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<bool> parse_boolean(std::string_view text) {
  const std::string word = lower(text);
  for (const auto* yes : {"on", "true", "yes", "1"})
    if (word == yes) return true;
  for (const auto* no : {"off", "false", "no", "0"})
    if (word == no) return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int>, 6> units{
      {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};
  const std::size_t length = number_length(text);
  const std::string_view unit = trimmed(text.substr(length));
  for (const auto& [name, shift] : units) {
    if (unit != name) continue;
    if (const auto whole = parse_integer(text.substr(0, length)))
      return *whole > (std::numeric_limits<std::int64_t>::max() >> shift) ? std::nullopt
                                                                          : std::optional(*whole << shift);
    const auto real = parse_real(text.substr(0, length));
    const double bytes = real ? std::ldexp(*real, shift) : -1;
    if (bytes < 0 || bytes >= 0x1p63 || shift == 0) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(bytes));
  }
  return std::nullopt;
}

std::optional<double> parse_duration(std::string_view text) {
  if (number_length(text) == text.size()) return parse_real(text);
  double seconds = 0, previous_unit = std::numeric_limits<double>::infinity();
  while (!text.empty()) {
    const std::size_t length = number_length(text);
    const auto number = parse_real(text.substr(0, length));
    if (!number || length == text.size()) return std::nullopt;
    const char name = text[length];
    const double unit = name == 's' ? 1 : name == 'm' ? 60 : name == 'h' ? 3600 : 0;
    if (unit == 0 || unit >= previous_unit) return std::nullopt;
    seconds += *number * unit;
    previous_unit = unit;
    text.remove_prefix(length + 1);
  }
  return seconds;
}

ParsedValue parse_value(const Option& option, std::string_view text) {
  text = trimmed(text);
  switch (option.type) {
    case OptionType::integer:
      if (const auto number = parse_integer(text)) return in_range(option, text, *number);
      if (!is_whole(text)) return must_be("an integer", text, {});
      return must_be(std::isinf(option.max) ? "an integer of 64 bits" : range_of(option), text, {});
    case OptionType::real:
      if (const auto number = parse_real(text)) return in_range(option, text, *number);
      return must_be("a number such as 0.1 or 3e-4", text, {});
    case OptionType::bytes:
      if (const auto number = parse_bytes(text)) return in_range(option, text, *number);
      return must_be("a size in bytes", text, "Sizes are written as 4096, 512KiB, 64MiB, 1.5GiB.");
    case OptionType::duration:
      if (const auto number = parse_duration(text)) return in_range(option, text, *number);
      return must_be("a duration", text, "Durations are written as 90s, 30m, 1h30m, or as plain seconds.");
    case OptionType::boolean:
      if (const auto boolean = parse_boolean(text)) return {.value = OptionValue(*boolean), .problem = {}, .hint = {}};
      return must_be("on or off", text, {});
    case OptionType::choice:
      return parse_choice(option, text);
    case OptionType::list:
      return parse_list(text);
    case OptionType::text:
    case OptionType::path:
      break;
  }
  return {.value = OptionValue(std::string(text)), .problem = {}, .hint = {}};
}

std::string to_text(const OptionValue& value) {
  struct Writer {
    std::string operator()(bool boolean) const { return boolean ? "on" : "off"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<std::string>& items) const { return joined(items, ", "); }
  };
  return std::visit(Writer{}, value);
}

}  // namespace tessera
