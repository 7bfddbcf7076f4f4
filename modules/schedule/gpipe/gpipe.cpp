// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/schedule/gpipe/gpipe.hpp"

namespace tessera {

std::vector<int> GPipe::placement(int stages, int chunks) const {
  std::vector<int> stage_of;
  for (int chunk = 0; chunk < stages * chunks; ++chunk) stage_of.push_back(chunk % stages);
  return stage_of;
}

std::vector<std::vector<Turn>> GPipe::turns(const PipelineShape& shape) const {
  std::vector<std::vector<Turn>> turns(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    std::vector<Turn>& list = turns[static_cast<std::size_t>(stage)];
    for (int k = 0; k < shape.chunks; ++k)
      for (int m = 0; m < shape.micro_batches; ++m) list.push_back({Pass::forward, k * shape.stages + stage, m});
    for (int k = shape.chunks - 1; k >= 0; --k)
      for (int m = 0; m < shape.micro_batches; ++m) list.push_back({Pass::backward, k * shape.stages + stage, m});
  }
  return turns;
}

}  // namespace tessera
