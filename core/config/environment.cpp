// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/config/sources.hpp"

namespace tessera {

std::vector<Raw> read_environment(std::span<const std::string> environment) {
  constexpr std::string_view k_prefix = "TESSERA__";
  std::vector<Raw> raws;
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(k_prefix) || equals == std::string::npos) continue;
    std::string key = variable.substr(k_prefix.size(), equals - k_prefix.size());
    std::transform(key.begin(), key.end(), key.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (const std::size_t dot = key.find("__"); dot != std::string::npos) {
      key.erase(dot, 1);
      key[dot] = '.';
    }
    raws.push_back(
        {std::move(key), variable.substr(equals + 1), {Origin::From::environment, variable.substr(0, equals)}});
  }
  return raws;
}

}  // namespace tessera
