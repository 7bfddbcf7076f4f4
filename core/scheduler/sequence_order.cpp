// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/sequence_order.hpp"

#include <fmt/core.h>

namespace tessera {

Zigzag zigzag_named(std::string_view word) {
  if (word == "on") return Zigzag::always;
  return word == "off" ? Zigzag::never : Zigzag::where_possible;
}

std::vector<Range> zigzag_order(std::int64_t sequence, int ranks, Zigzag zigzag) {
  if (ranks == 1 || zigzag == Zigzag::never) return {};
  const std::int64_t pieces = 2 * ranks;
  if (sequence % pieces != 0) {
    if (zigzag == Zigzag::where_possible) return {};
    throw Error(
        ErrorKind::configuration,
        fmt::format("model.sequence = {} cannot be cut into 2 x parallel.context = {} equal pieces, as zigzag = "
                    "on asks for",
                    sequence, pieces),
        "choose a multiple, or zigzag = off: tokens then lie as they come, and the last rank has most to attend to");
  }
  const std::int64_t length = sequence / pieces;
  std::vector<Range> order;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for (const std::int64_t piece : {rank, pieces - 1 - rank}) order.push_back({piece * length, (piece + 1) * length});
  return order;
}

}  // namespace tessera
