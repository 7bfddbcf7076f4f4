// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/option_changes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tessera::apps {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> k_left_out{"log.", "checkpoint.", "modules.", "train.watchdog",
                                                     "train.stop_after"};

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.empty() ? "''" : text;
}

}  // namespace

std::vector<std::string> option_changes(const std::string& saved, const std::string& here) {
  std::vector<std::string> lines;
  const json theirs = json::parse(saved, nullptr, false), ours = json::parse(here, nullptr, false);
  if (!theirs.is_object() || !ours.is_object()) return lines;
  for (const auto& [name, entry] : ours.items()) {
    const bool left_out = std::any_of(k_left_out.begin(), k_left_out.end(),
                                      [&name = name](std::string_view prefix) { return name.starts_with(prefix); });
    const auto before = theirs.find(name);
    if (left_out || before == theirs.end() || !before->is_object() || !before->contains("value")) continue;
    if (before->at("value") != entry.at("value"))
      lines.push_back(
          fmt::format("{} = {} ({} before)", name, text_of(entry.at("value")), text_of(before->at("value"))));
  }
  return lines;
}

}  // namespace tessera::apps
