// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/engine.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/model/initial.hpp"
#include "core/scheduler/verifier.hpp"
#include "core/train/reordered_source.hpp"

namespace tessera {

Engine::Engine(const EngineArgs& args)
    : args_(args),
      order_(sequence_order(args_.strategies, args.model.sequence, args.mesh)),
      target_{args.kernels, args.device.threads(), args.collective_workspace} {
  StepPlans plans = compile_plans({args_.model, args.dtype, args.mesh, args_.strategies, target_, args.optimizer,
                                   args.clip, args.global_batch, args.micro_batch, args.head_pieces, args_.pipeline},
                                  args.world.rank());
  columns_ = plans.columns;
  micro_batches_ = plans.micro_batches;
  training_ = std::move(plans.training);
  evaluation_ = std::move(plans.evaluation);
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
    if (part.group == "model")
      fill_initial(*part.parameter, part.shape, part.slab, args_.seed, part.dtype, part.data, args_.device.threads());
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
          scalar(training_.plan.decision), scalar(training_.plan.decision, 2) != 0,
          expert_outcome(expert_report(), args_.model.experts)};
}

ExpertStepReport Engine::expert_report() const {
  const Operand& report = training_.plan.loss;
  return {training_.plan.experts, reinterpret_cast<const double*>(arena_->at(report.at)),
          static_cast<double>(args_.global_batch)};
}

std::vector<ExpertLayerOutcome> Engine::expert_layers() const {
  return tessera::expert_layers(expert_report());
}

EvaluationOutcome Engine::evaluate(BatchSource& source, std::int64_t first_sample, std::int64_t samples) {
  return *evaluate(source, first_sample, samples, [] { return false; });
}

std::optional<EvaluationOutcome> Engine::evaluate(BatchSource& source, std::int64_t first_sample, std::int64_t samples,
                                                  const std::function<bool()>& give_up) {
  double loss = 0, tokens = 0;
  for (std::int64_t done = 0; done < samples; done += columns_) {
    if (done > 0 && give_up()) return std::nullopt;
    fill(evaluation_.plan, evaluation_inputs_, source, first_sample + done, std::min(columns_, samples - done), 0);
    evaluation_executor_->run({.seed = args_.seed});
    loss += scalar(evaluation_.plan.loss);
    tokens += scalar(evaluation_.plan.count);
  }
  return EvaluationOutcome{tokens > 0 ? loss / tokens : 0, static_cast<std::int64_t>(tokens)};
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
