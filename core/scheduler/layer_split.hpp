// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  cutting the layers of a model into the chunks of a pipeline: by given counts, or so that no chunk is long.
// Used: the scheduler, before it places a model.
// Must not know: stages, schedules, machines.
#pragma once

#include <span>
#include <vector>

#include "core/scheduler/place.hpp"

namespace tessera {

/// What each part of a model costs, in one unit. The embedding goes with the first layer, the head with the last.
struct LayerCosts {
  double embedding = 0;
  std::vector<double> layers;
  double head = 0;
};

/// FLOPs of a logical graph by its ops' rules.
LayerCosts layer_costs(const Graph& logical);

/// Layers of each chunk, at least one, so that the dearest chunk is as cheap as can be; among such cuts the most even
/// one, and then the one whose first chunks have the fewest layers, since the first stages keep the most frames. Throws
/// Error{configuration} when there are fewer layers than chunks.
std::vector<int> split_by_cost(const LayerCosts& costs, int chunks);

/// The map of `counts[c]` layers in chunk c.
ChunkMap chunk_map(std::span<const int> counts);

}  // namespace tessera
