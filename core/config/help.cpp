// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/help.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <cmath>

namespace tessera {

namespace {

std::string values_of(const Option& option) {
  if (option.type == OptionType::choice) {
    std::string text;
    for (const std::string& choice : option.choices) text += (text.empty() ? "" : "|") + choice;
    return text;
  }
  std::string text(name_of(option.type));
  if (option.type == OptionType::boolean) return "on|off";
  if (std::isfinite(option.min) && std::isfinite(option.max))
    return text + fmt::format(" {}..{}", option.min, option.max);
  if (std::isfinite(option.min)) return text + fmt::format(" >= {}", option.min);
  if (std::isfinite(option.max)) return text + fmt::format(" <= {}", option.max);
  return text;
}

std::string default_of(const Option& option) {
  const Fallback fallback = Fallback::parse(option.fallback);
  if (!fallback.reference.empty()) return fmt::format("that of {}", fallback.reference);
  if (fallback.condition)
    return fmt::format("{} if {}, else {}", fallback.value, option.fallback.substr(0, option.fallback.find(" ? ")),
                       fallback.otherwise);
  return fallback.value.empty() ? "none" : std::string(fallback.value);
}

std::string limit_of(const Option& option) {
  if (!option.available) return {};
  if (option.available->empty()) return " [not in this version]";
  return fmt::format(" [this version: {} only]", fmt::join(*option.available, ", "));
}

std::string describe(const Option& option) {
  std::string text = fmt::format("{}{} (default: {})", option.text, limit_of(option), default_of(option));
  if (!option.used_when.empty()) text += fmt::format(" Used when {}.", option.used_when);
  for (std::size_t i = 0; i < option.aliases.size(); ++i)
    text += fmt::format("{}--{}", i == 0 ? " Also " : ", ", option.aliases[i].flag);
  return text + (option.aliases.empty() ? "" : ".");
}

/// Words of the text in lines of at most `width` columns, each indented.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent, std::size_t width) {
  std::size_t column = width;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column + 1 + end > width) {
      if (column != width || out.back() != '\n') out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out += '\n';
}

}  // namespace

std::string help_text(std::span<const Option> options, const HelpRequest& request) {
  std::string out;
  std::string_view last = "\n";  // no section's name
  for (const Option& option : options) {
    const std::string_view section = section_of(option.name);
    if (option.level > request.level || (!request.section.empty() && request.section != section)) continue;
    if (section != last) out += section.empty() ? "\n" : fmt::format("\n[{}]\n", section);
    last = section;
    const std::string owner = option.owner == "core" ? "" : fmt::format("  ({})", option.owner);
    out += fmt::format("  --{}  {}{}\n", option.name, values_of(option), owner);
    append_wrapped(out, describe(option), 6, static_cast<std::size_t>(request.width));
  }
  return out;
}

}  // namespace tessera
