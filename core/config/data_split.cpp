// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/data_split.hpp"

#include <algorithm>

#include "core/config/value.hpp"

namespace tessera {

std::optional<double> parse_split(std::string_view text) {
  double shares[2] = {0, 0};
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view words[2] = {text.substr(0, comma), text.substr(std::min(comma + 1, text.size()))};
  const int count = comma == text.size() ? 1 : 2;
  for (int i = 0; i < count; ++i) {
    const std::optional<double> share = parse_real(trimmed(words[i]));
    if (!share || *share < 0) return std::nullopt;
    shares[i] = *share;
  }
  if (shares[0] == 0) return std::nullopt;
  return shares[1] / (shares[0] + shares[1]);
}

}  // namespace tessera
