// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/step_plans.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/scheduler/arena.hpp"
#include "core/scheduler/layer_split.hpp"

namespace tessera {
namespace {

/// Logits of one piece of the head, in bytes, that are worth keeping in the cache while they are hot.
constexpr std::int64_t k_hot_logits = 128 << 20;

/// More of them would make plans long, and gain nothing.
constexpr std::int64_t k_most_pieces = 1024;

/// The fewest pieces whose logits are small enough, among those that cut every rank's part of the sequence evenly.
std::int64_t choose_pieces(std::int64_t sequence, std::int64_t batch, std::int64_t vocab, std::int64_t parts,
                           DType dtype) {
  const std::int64_t bytes = sequence / parts * batch * vocab * size_of(dtype);
  for (std::int64_t pieces = 1; pieces <= sequence / parts; ++pieces)
    if (sequence % (parts * pieces) == 0 && (bytes / pieces <= k_hot_logits || pieces >= k_most_pieces)) return pieces;
  return 1;
}

/// Pieces that somebody asked for.
std::int64_t check_pieces(std::int64_t pieces, std::int64_t sequence, std::int64_t parts) {
  if (pieces > 1 && sequence % (parts * pieces) != 0)
    throw Error(ErrorKind::configuration,
                fmt::format("{} pieces of the head do not cut {} tokens over {} context-parallel ranks evenly", pieces,
                            sequence, parts),
                "choose a number that divides every rank's tokens, 1, or 0 for a choice by size");
  return pieces;
}

std::int64_t micro_batches_of(const PlanArgs& args, std::int64_t columns) {
  if (args.micro_batch < 1 || args.global_batch < 1 || args.global_batch % columns != 0)
    throw Error(
        ErrorKind::configuration,
        fmt::format("train.global_batch = {} is not a multiple of train.micro_batch x data-parallel ranks = {} x {}",
                    args.global_batch, args.micro_batch, columns / std::max<std::int64_t>(1, args.micro_batch)),
        fmt::format("choose a global batch among {}, {}, {}, ...", columns, 2 * columns, 3 * columns));
  return args.global_batch / columns;
}

Pipeline pipeline_of(const PipelineArgs& args, const Mesh& mesh, const ModelGraph& model) {
  Pipeline pipeline{args.schedule, args.chunks, {}};
  if (mesh.stages() == 1) return pipeline;
  TESSERA_CHECK(args.schedule != nullptr, "a mesh of several stages needs a schedule");
  const int chunks = mesh.stages() * args.chunks;
  pipeline.map = chunk_map(args.layers.empty() ? split_by_cost(layer_costs(model.graph), chunks) : args.layers);
  pipeline.map.stages = args.schedule->placement(mesh.stages(), args.chunks);
  return pipeline;
}

}  // namespace

MemoryPlan planned_memory(const StepPlans& plans) {
  return larger(plans.training.plan.memory, plans.evaluation.plan.memory);
}

StepPlans compile_plans(const PlanArgs& args, int rank) {
  const auto ranks = [&](std::string_view stem) { return args.mesh.size_of(args.mesh.factors(stem).set()); };
  StepPlans plans;
  plans.columns = args.micro_batch * ranks("dp");
  plans.micro_batches = micro_batches_of(args, plans.columns);
  const std::int64_t sequence = args.model.sequence, parts = ranks("cp"), vocab = args.model.vocab / ranks("tp");
  const std::int64_t pieces = args.head_pieces > 0
                                  ? check_pieces(args.head_pieces, sequence, parts)
                                  : choose_pieces(sequence, args.micro_batch, vocab, parts, args.dtype);
  const MicroBatch micro_batch{sequence, plans.columns, pieces};
  const ModelGraph model = build_model(args.model, micro_batch, ModelPurpose::train, args.dtype);
  plans.pipeline = pipeline_of(args.pipeline, args.mesh, model);
  plans.training = compile({model, args.mesh, rank, args.strategies, args.target, static_cast<int>(plans.micro_batches),
                            Training{args.optimizer, args.clip}, nullptr, plans.pipeline});
  const ModelGraph evaluated = build_model(args.model, micro_batch, ModelPurpose::evaluate, args.dtype);
  plans.evaluation = compile({evaluated, args.mesh, rank, args.strategies, args.target, 1, std::nullopt,
                              &plans.training.plan.buckets, plans.pipeline});
  return plans;
}

}  // namespace tessera
