// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that makes the step: programs lowered in the order in which they run, and the actions that run them.
// Used: the scheduler.
// Must not know: models, optimizers, how calls are made, which schedule.
#pragma once

#include "core/scheduler/agenda.hpp"
#include "core/scheduler/lower.hpp"
#include "core/scheduler/update.hpp"

namespace tessera {

struct StepArgs {
  const Graph& graph;
  const Update& update;
  const std::vector<Value>& outputs;
  int micro_batches = 1;
  const Target& target;
  const Mesh& mesh;
  const Agenda& agenda;
  const std::vector<int>& stages;  ///< stage of each chunk
};

/// Lowers the programs of this rank's stage and lists the actions of a step: counts, seed, the agenda, update. A
/// bucket's reduction starts behind the instruction that completes its gradient, while the backward goes on; one that
/// spans stages follows the last turn. The update waits for them. `lists` are those of all stages.
void make_step(const StepArgs& args, std::vector<NodeList> lists, Lowering& lowering, Plan& plan);

}  // namespace tessera
