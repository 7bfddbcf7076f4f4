// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/exchange.hpp"

#include "core/device/immediate_stream.hpp"

namespace tessera {

std::vector<std::int64_t> gather_words(Communicator& ranks, std::span<const std::int64_t> mine) {
  const auto count = static_cast<std::int64_t>(mine.size()), total = count * ranks.size();
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks.size()), count);
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(ranks.workspace_bytes(CallKind::all_gather, total, DType::i64)));
  ImmediateStream stream;
  ranks.all_gather({mine.data(), count, DType::i64}, {all.data(), total, DType::i64}, counts, {stream, workspace})
      .wait();
  return all;
}

void broadcast_from(Communicator& ranks, int root, View inout) {
  if (inout.count == 0) return;
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(ranks.workspace_bytes(CallKind::broadcast, inout.count, inout.dtype)));
  ImmediateStream stream;
  ranks.broadcast(inout, root, {stream, workspace}).wait();
}

}  // namespace tessera
