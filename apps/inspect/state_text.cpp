// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/inspect/state_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "core/base/json_depth.hpp"

namespace tessera::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k_most_text = 60;
constexpr int k_most_depth = 16;
constexpr int k_most_brackets = 64;  // of a state that is one

/// In one line.
std::string shortened(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() <= k_most_text) return text;
  return fmt::format("{}… ({} bytes)", text.substr(0, k_most_text), text.size());
}

void append(std::vector<std::pair<std::string, std::string>>& rows, const std::string& name, const Json& value,
            int depth) {
  if (value.is_object() && value.contains("value") && value.contains("from")) {
    if (value["from"] != "default") append(rows, name, value["value"], depth);
  } else if (value.is_object() && depth < k_most_depth) {
    for (const auto& [key, member] : value.items())
      append(rows, name.empty() ? key : name + "." + key, member, depth + 1);
  } else if (name.ends_with("fingerprint") && value.is_number_unsigned()) {
    rows.emplace_back(name, fmt::format("{:016x}", value.get<std::uint64_t>()));  // as that of the dataset is shown
  } else {
    rows.emplace_back(name, shortened(value.is_string() ? value.get<std::string>() : value.dump()));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> state_rows(const std::string& json) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (json_depth(json) > k_most_brackets) return rows;
  const Json state = Json::parse(json, nullptr, false);
  if (state.is_object()) append(rows, {}, state, 0);
  return rows;
}

}  // namespace tessera::apps
