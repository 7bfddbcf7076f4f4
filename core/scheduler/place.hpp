// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that gives every value of the logical graph a layout and a pipeline chunk; conversions are derived.
// Used: the scheduler.
// Must not know: any op by name; which strategies there are.
#pragma once

#include <map>
#include <span>

#include "core/scheduler/strategy.hpp"

namespace tessera {

/// The placed graph and where the logical values went.
struct Placed {
  Graph graph;
  std::map<Value, Value> values;  ///< logical -> placed, for inputs and outputs that somebody asks for by name
};

/// Which chunk of the pipeline each part of the model is in, and the stage of each chunk; one of each when empty.
struct ChunkMap {
  std::vector<int> layers;  ///< chunk of layer i; the embedding goes with the first, the head with the last
  std::vector<int> stages;  ///< stage of chunk i
  int of(int layer) const;
  int stage(int chunk) const { return stages.empty() ? 0 : stages[static_cast<std::size_t>(chunk)]; }
};

/// Places `logical` on the mesh, all chunks of it. A parameter's home is the stages of the nodes that read it. Fills
/// `placed.graph`; the caller owns the placer so that later passes go on with it.
void place(Placed& placed, Placer& placer, const Graph& logical, std::span<const Strategy* const> strategies,
           const ChunkMap& chunks);

}  // namespace tessera
