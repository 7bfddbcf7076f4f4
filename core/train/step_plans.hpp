// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the plans of a training run, for any rank of any mesh: nothing runs, and no other rank needs to be there.
// Used: the engine, `tessera plan`, tests.
// Must not know: communicators, memory, data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/model.hpp"
#include "core/scheduler/scheduler.hpp"

namespace tessera {

/// The stages of a mesh's "pp". Needed where there are several.
struct PipelineArgs {
  const Schedule* schedule = nullptr;
  int chunks = 1;           ///< per stage
  std::vector<int> layers;  ///< of each chunk, in the order of the layers; empty: cut by cost
};

/// What plans depend on.
struct PlanArgs {
  const ModelConfig& model;
  DType dtype = DType::f32;
  const Mesh& mesh;
  std::span<const Strategy* const> strategies;
  const Target& target;
  const Optimizer& optimizer;
  double clip = 0;
  std::int64_t global_batch = 1;  ///< samples per step
  std::int64_t micro_batch = 1;   ///< samples per micro-batch and data-parallel rank
  std::int64_t head_pieces = 0;   ///< pieces of the sequence in the head; 0: chosen by size
  const PipelineArgs& pipeline;
};

struct StepPlans {
  Compiled training, evaluation;
  Pipeline pipeline;
  std::int64_t columns = 0;  ///< samples of one micro-batch over all data-parallel ranks
  std::int64_t micro_batches = 0;
};

/// Peak of each tag: the larger of training and evaluation, which use the same memory.
MemoryPlan planned_memory(const StepPlans& plans);

/// Throws Error{configuration} when the layout is impossible.
StepPlans compile_plans(const PlanArgs& args, int rank);

}  // namespace tessera
