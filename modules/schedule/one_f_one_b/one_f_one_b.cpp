// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"

namespace tessera {
namespace {

void require_one_chunk(int chunks) {
  if (chunks != 1)
    throw Error(ErrorKind::configuration,
                fmt::format("schedule one_f_one_b runs one chunk per stage, not parallel.chunks = {}", chunks),
                "Set parallel.chunks = 1, or strategy.pipeline = interleaved.");
}

}  // namespace

std::vector<int> OneFOneB::placement(int stages, int chunks) const {
  require_one_chunk(chunks);
  std::vector<int> stage_of(static_cast<std::size_t>(stages));
  std::iota(stage_of.begin(), stage_of.end(), 0);
  return stage_of;
}

std::vector<std::vector<Turn>> OneFOneB::turns(const PipelineShape& shape) const {
  require_one_chunk(shape.chunks);
  std::vector<std::vector<Turn>> turns(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    std::vector<Turn>& list = turns[static_cast<std::size_t>(stage)];
    int forward = 0;
    for (int backward = 0; backward < shape.micro_batches; ++backward) {
      const int ahead = std::min(shape.micro_batches, backward + shape.stages - stage);
      for (; forward < ahead; ++forward) list.push_back({Pass::forward, stage, forward});
      list.push_back({Pass::backward, stage, backward});
    }
  }
  return turns;
}

}  // namespace tessera
