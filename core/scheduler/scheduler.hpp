// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the scheduler: from a model's logical graph to the plan of one rank, pass by pass.
// Used: the trainer, apps, tests.
// Must not know: MPI, devices beyond their table of kernels, where options come from.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/model/model.hpp"
#include "core/scheduler/lower.hpp"
#include "core/scheduler/optimizer.hpp"
#include "core/scheduler/place.hpp"
#include "core/scheduler/schedule.hpp"
#include "core/scheduler/strategy.hpp"

namespace tessera {

/// How weights are updated. Without it a plan only evaluates.
struct Training {
  const Optimizer& optimizer;
  double clip = 0;  ///< largest norm of the gradient; 0: no clipping
};

/// How a model is spread over the stages of a mesh; by default one chunk on one stage.
struct Pipeline {
  const Schedule* schedule = nullptr;  ///< null: one stage, micro-batches one after the other
  int chunks = 1;                      ///< per stage
  ChunkMap map;
};

struct CompileArgs {
  const ModelGraph& model;
  const Mesh& mesh;
  int rank = 0;
  std::span<const Strategy* const> strategies;
  const Target& target;
  int micro_batches = 1;
  std::optional<Training> training;
  /// Where weights lie already, from a training plan of the same model; null: this plan lays them out.
  const std::vector<Bucket>* buckets = nullptr;
  Pipeline pipeline = {};
};

/// A plan and the graph that it was made from, for printing and for names.
struct Compiled {
  Graph graph;
  Plan plan;
};

/// Passes: transform, place, (differentiate,) expand, bucket, (update,) order, reside, actions, lower with storage.
/// The graph up to `expand` is the same for all ranks and holds all stages; what follows is the rank's own.
Compiled compile(const CompileArgs& args);

}  // namespace tessera
