// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that makes the step: programs lowered in the order in which they run, and the actions that run them.
// Used: the scheduler.
// Must not know: models, optimizers, how calls are made.
#pragma once

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
};

/// Lowers all programs and lists the actions of a step: counts, seed, forward and backward of every micro-batch,
/// update. In the last micro-batch a bucket's reduction starts behind the instruction that completes its gradient,
/// while the backward goes on; the update waits for it.
void make_step(const StepArgs& args, std::vector<NodeList> lists, Lowering& lowering, Plan& plan);

}  // namespace tessera
