// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/engine.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/model/initial.hpp"
#include "core/scheduler/layer_split.hpp"
#include "core/scheduler/verifier.hpp"
#include "core/train/reordered_source.hpp"

namespace tessera {
namespace {

/// Logits of one piece of the head, in bytes, that are worth keeping in the cache while they are hot.
constexpr std::int64_t k_hot_logits = 32 << 20;

/// The fewest pieces whose logits are small enough, among those that cut every rank's part of the sequence evenly.
std::int64_t choose_pieces(std::int64_t sequence, std::int64_t batch, std::int64_t vocab, std::int64_t parts,
                           DType dtype) {
  const std::int64_t bytes = sequence / parts * batch * vocab * size_of(dtype);
  for (std::int64_t pieces = 1; pieces <= sequence / parts; ++pieces)
    if (sequence % (parts * pieces) == 0 && bytes / pieces <= k_hot_logits) return pieces;
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

std::int64_t micro_batches_of(const EngineArgs& args, std::int64_t columns) {
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

Engine::Engine(const EngineArgs& args)
    : args_(args),
      columns_(args.micro_batch * args.mesh.size_of(args.mesh.factors("dp").set())),
      micro_batches_(micro_batches_of(args, columns_)),
      order_(sequence_order(args_.strategies, args.model.sequence, args.mesh)),
      target_{args.kernels, args.device.threads(), args.collective_workspace} {
  const auto ranks = [&](std::string_view stem) { return args.mesh.size_of(args.mesh.factors(stem).set()); };
  const std::int64_t sequence = args.model.sequence, parts = ranks("cp"), vocab = args.model.vocab / ranks("tp");
  const std::int64_t pieces = args.head_pieces > 0
                                  ? check_pieces(args.head_pieces, sequence, parts)
                                  : choose_pieces(sequence, args.micro_batch, vocab, parts, args.dtype);
  const MicroBatch micro_batch{args.model.sequence, columns_, pieces};
  const ModelGraph model = build_model(args.model, micro_batch, ModelPurpose::train, args.dtype);
  const Pipeline pipeline = pipeline_of(args_.pipeline, args.mesh, model);
  training_ = compile({model, args.mesh, args.world.rank(), args_.strategies, target_, static_cast<int>(micro_batches_),
                       Training{args.optimizer, args.clip}, nullptr, pipeline});
  const ModelGraph evaluated = build_model(args.model, micro_batch, ModelPurpose::evaluate, args.dtype);
  evaluation_ = compile({evaluated, args.mesh, args.world.rank(), args_.strategies, target_, 1, std::nullopt,
                         &training_.plan.buckets, pipeline});
}

Engine::~Engine() = default;

MemoryPlan Engine::memory() const {
  return larger(training_.plan.memory, evaluation_.plan.memory);
}

void Engine::connect() {
  verify_over(args_.world, training_.plan, args_.mesh);
  verify_over(args_.world, evaluation_.plan, args_.mesh);
  std::vector<AxisGroup> groups = training_.plan.communicators;
  for (const AxisGroup& group : evaluation_.plan.communicators)
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  communicators_.emplace(args_.world, args_.mesh, all_communicators(args_.world, std::move(groups)));
}

void Engine::allocate() {
  arena_.emplace(args_.device, memory());
  ExecutorOptions quiet = args_.executor;
  quiet.trace = nullptr;
  training_executor_.emplace(training_.plan, *arena_, args_.device, *communicators_, args_.executor);
  evaluation_executor_.emplace(evaluation_.plan, *arena_, args_.device, *communicators_, quiet);
  training_inputs_ = bind_inputs(training_.plan);
  evaluation_inputs_ = bind_inputs(evaluation_.plan);
  set_initial_weights();
}

void Engine::set_initial_weights() {
  for (const TensorPart& part : tensors())
    if (part.group == "model") fill_initial(*part.parameter, part.shape, part.slab, args_.seed, part.dtype, part.data);
}

std::vector<TensorPart> Engine::tensors() const {
  const Plan& plan = training_.plan;
  auto parts = tensor_parts("model", args_.mesh, plan, training_.graph, *arena_,
                            [](const Bucket& b, std::size_t) { return b.weights; });
  const std::vector<OptimizerState> states = args_.optimizer.states();
  for (std::size_t s = 0; s < states.size(); ++s) {
    auto state = tensor_parts(
        states[s].name, args_.mesh, plan, training_.graph, *arena_,
        [](const Bucket& b, std::size_t i) { return i < b.states.size() ? b.states[i] : Address{}; }, s);
    parts.insert(parts.end(), state.begin(), state.end());
  }
  return parts;
}

std::vector<TensorPart> Engine::gradients() const {
  return tensor_parts("gradient", args_.mesh, training_.plan, training_.graph, *arena_,
                      [](const Bucket& b, std::size_t) { return b.gradients; });
}

StepOutcome Engine::step(BatchSource& source, std::int64_t first_sample, const StepSettings& settings) {
  for (int m = 0; m < micro_batches_; ++m)
    fill(training_.plan, training_inputs_, source, first_sample + m * columns_, columns_, m);
  StepInputs inputs;
  inputs.seed = args_.seed;
  inputs.step = settings.update;
  inputs.learning_rate = settings.learning_rate;
  inputs.loss_scale = settings.loss_scale;
  training_executor_->run(inputs);
  const double tokens = scalar(training_.plan.count);
  return {tokens > 0 ? scalar(training_.plan.loss) / tokens : 0, static_cast<std::int64_t>(tokens),
          scalar(training_.plan.decision), scalar(training_.plan.decision, 2) != 0};
}

EvaluationOutcome Engine::evaluate(BatchSource& source, std::int64_t first_sample, std::int64_t samples) {
  double loss = 0, tokens = 0;
  for (std::int64_t done = 0; done < samples; done += columns_) {
    fill(evaluation_.plan, evaluation_inputs_, source, first_sample + done, std::min(columns_, samples - done), 0);
    evaluation_executor_->run({.seed = args_.seed});
    loss += scalar(evaluation_.plan.loss);
    tokens += scalar(evaluation_.plan.count);
  }
  return {tokens > 0 ? loss / tokens : 0, static_cast<std::int64_t>(tokens)};
}

BatchView Engine::bind_inputs(const Plan& plan) const {
  BatchView view;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const Operand& input = plan.inputs[i];
    void* const data = arena_->at(address_in(plan, {}, input.at));
    const std::string& name = plan.input_names[i];
    if (name == "ids") {
      view.ids = static_cast<std::int32_t*>(data);
      view.tokens = {input.tensor.start, input.tensor.shape};
    }
    if (name == "target") view.target = static_cast<std::int32_t*>(data);
    if (name == "mask") view.mask = data, view.mask_dtype = input.tensor.dtype;
    if (name == "position") view.position = static_cast<std::int32_t*>(data);
    if (name == "index") view.index = static_cast<std::int32_t*>(data);
    if (name == "document") view.document = static_cast<std::int32_t*>(data);
    if (name == "sample") view.sample = static_cast<std::int64_t*>(data);
  }
  return view;
}

/// Fills the inputs of one micro-batch with this rank's part of the samples.
void Engine::fill(const Plan& plan, BatchView view, BatchSource& source, std::int64_t first_sample,
                  std::int64_t samples, std::int64_t micro_batch) {
  const std::int64_t shift = micro_batch * stride(plan.groups[static_cast<std::size_t>(plan.inputs[0].at.group)]);
  auto move = [shift](auto*& pointer) {
    pointer =
        reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(reinterpret_cast<std::byte*>(pointer) + shift);
  };
  move(view.ids), move(view.target), move(view.position), move(view.index), move(view.document), move(view.sample);
  view.mask = static_cast<std::byte*>(view.mask) + shift;
  ReorderedSource(source, order_).fill(first_sample, samples, view);
}

double Engine::scalar(const Operand& operand, std::int64_t index) const {
  return reinterpret_cast<const double*>(arena_->at(operand.at))[index];
}

}  // namespace tessera
