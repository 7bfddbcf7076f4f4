// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that cuts the graph into programs: lists of live nodes in the order in which they run.
// Used: the scheduler.
// Must not know: actions, addresses; any op by name.
#pragma once

#include <vector>

#include "core/scheduler/plan.hpp"

namespace tessera {

/// The nodes of one program, by index in the graph.
struct NodeList {
  ProgramKind kind = ProgramKind::forward;
  int chunk = 0;
  std::vector<std::int32_t> nodes;
};

/// Moves the nodes of each body that is repeated behind each other, to where the last one stands: what the passes put
/// between them is made once, before the body.
void gather_bodies(Graph& graph);

/// Drops what nobody needs (needed are accumulators, ops that write in place, and `outputs`) and cuts the rest by phase
/// and chunk. In the head the backward of each piece of tokens follows its forward at once, in the forward program, so
/// that only one piece's logits are alive. Empty programs are left out.
///
/// Where the backward is split, `weight` gets what serves nothing but gradients of the layer's own parameters, so that
/// nothing of another layer or chunk waits for it.
enum class BackwardCut : std::uint8_t { joint, split };
std::vector<NodeList> cut_into_programs(const Graph& graph, const std::vector<Value>& outputs,
                                        BackwardCut cut = BackwardCut::joint);

}  // namespace tessera
