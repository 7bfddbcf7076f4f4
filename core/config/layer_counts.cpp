// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/layer_counts.hpp"

#include <limits>

#include "core/base/error.hpp"
#include "core/config/value.hpp"

namespace tessera {

std::optional<std::vector<int>> parse_layer_counts(std::span<const std::string> words) {
  std::vector<int> counts;
  for (const std::string& word : words) {
    const std::optional<std::int64_t> count = parse_integer(word);
    if (!count || *count < 1 || *count > std::numeric_limits<int>::max()) return std::nullopt;
    counts.push_back(static_cast<int>(*count));
  }
  return counts;
}

std::vector<int> layer_counts(const Settings& settings) {
  const auto counts = parse_layer_counts(settings.get<std::vector<std::string>>("parallel.layers"));
  if (!counts)
    throw Error(ErrorKind::configuration,
                "parallel.layers = " + settings.text("parallel.layers") + " is not a list of numbers above 0",
                "Write one number per chunk: 3, 3, 2.");
  return *counts;
}

}  // namespace tessera
