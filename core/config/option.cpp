// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/option.hpp"

#include <algorithm>
#include <array>

#include "core/config/value.hpp"

namespace tessera {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view name_of(OptionType type) {
  constexpr std::array<std::string_view, 9> names{"integer", "real",     "text", "boolean", "choice",
                                                  "bytes",   "duration", "path", "list"};
  return names[static_cast<std::size_t>(type)];
}

std::string_view name_of(OptionLevel level) {
  constexpr std::array<std::string_view, 3> names{"user", "tuning", "developer"};
  return names[static_cast<std::size_t>(level)];
}

std::string_view section_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}

std::optional<Condition> Condition::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  Condition condition;
  condition.negated = text[equals - 1] == '!';
  condition.key = trimmed(text.substr(0, equals - (condition.negated ? 1 : 0)));
  condition.values = split(text.substr(equals + 1), '|');
  if (condition.key.empty()) return std::nullopt;
  return condition;
}

bool Condition::holds_for(std::string_view value) const {
  return (std::find(values.begin(), values.end(), value) != values.end()) != negated;
}

Fallback Fallback::parse(std::string_view text) {
  Fallback fallback;
  const std::size_t question = text.find(" ? "), colon = text.rfind(" : ");
  if (question != std::string_view::npos && colon != std::string_view::npos && question < colon) {
    fallback.condition = Condition::parse(text.substr(0, question));
    fallback.value = trimmed(text.substr(question + 3, colon - question - 3));
    fallback.otherwise = trimmed(text.substr(colon + 3));
  } else if (text.starts_with('=')) {
    fallback.reference = text.substr(1);
  } else {
    fallback.value = text;
  }
  return fallback;
}

}  // namespace tessera
