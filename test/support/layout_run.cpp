// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/layout_run.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <fmt/core.h>

#include "core/base/counter_rng.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/expert_parallel/expert_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/schedules.hpp"

namespace tessera::testing_support {
namespace {

/// The numbers of one sample.
CounterRng sample_stream(std::uint64_t seed, std::string_view what, std::int64_t sample) {
  return CounterRng(seed, hash_name(what), static_cast<std::uint64_t>(sample));
}

/// Where the document begins that holds each position of a sample; one begins at a position with probability 1/6.
std::vector<std::int64_t> document_starts(std::uint64_t seed, std::int64_t sample, std::int64_t sequence) {
  const CounterRng rng = sample_stream(seed, "document", sample);
  std::vector<std::int64_t> starts(static_cast<std::size_t>(sequence));
  for (std::int64_t i = 1; i < sequence; ++i) {
    const auto at = static_cast<std::size_t>(i);
    starts[at] = rng.uniform(at) < 1.0 / 6 ? i : starts[at - 1];
  }
  return starts;
}

}  // namespace

std::string name_of(const LayoutChoice& l) {
  std::string text = fmt::format("tp{}{}", l.tensor, l.sequence ? "+sp" : "");
  text += fmt::format(" cp{}{}", l.context, l.context > 1 ? "(" + l.context_strategy + ")" : "");
  text += fmt::format(" dp{} pp{}", l.data, l.pipeline);
  if (l.expert > 1) text += fmt::format(" ep{}", l.expert);
  return l.pipeline > 1 ? text + fmt::format("({} x{})", l.schedule, l.chunks) : text;
}

void RandomSource::fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) {
  const std::int64_t rows = view.tokens.extent[0], columns = view.tokens.extent[1];
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t number = view.tokens.start[1] + c, sample = first_sample + number;
    const CounterRng tokens = sample_stream(seed_, "token", sample), counted = sample_stream(seed_, "mask", sample);
    const double share = sample_stream(seed_, "share", sample).uniform(0);
    const auto starts = document_starts(seed_, sample, sequence_);
    auto token = [&](std::int64_t position) {
      return static_cast<std::int32_t>(tokens.uniform(static_cast<std::uint64_t>(position)) *
                                       static_cast<double>(vocab_));
    };
    view.sample[c] = sample;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = r * columns + c, position = view.tokens.start[0] + r;
      const std::int64_t start = starts[static_cast<std::size_t>(position)];
      view.ids[at] = token(position);
      view.target[at] = token(position + 1);
      view.position[at] = static_cast<std::int32_t>(position - start);
      view.index[at] = static_cast<std::int32_t>(position);
      view.document[at] = static_cast<std::int32_t>(start);
      // The first position of the first sample of a stream counts, so that some target does.
      const bool counts = number < samples && (counted.uniform(static_cast<std::uint64_t>(position)) < share ||
                                               (sample == 0 && position == 0));
      if (view.mask_dtype == DType::f64)
        static_cast<double*>(view.mask)[at] = counts;
      else
        static_cast<float*>(view.mask)[at] = counts;
    }
  }
}

std::uint64_t RandomSource::digest(std::int64_t first_sample, std::int64_t samples) const {
  return mix(seed_ ^ mix(static_cast<std::uint64_t>(first_sample) ^ mix(static_cast<std::uint64_t>(samples))));
}

TrainingResult train_layout(const TrainingShape& shape, const LayoutChoice& layout) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 14);
  const TensorParallel tensor(shape.model.heads, shape.model.key_heads(),
                              layout.sequence ? TensorParallel::Residual::split : TensorParallel::Residual::replicated);
  const ExpertParallel expert(layout.expert);
  const auto context = test::context_strategy(layout.context_strategy);
  TrainingCase run;
  run.model = shape.model;
  run.dtype = shape.dtype;
  run.axes = {{"tp", "tp", layout.tensor},
              {"cp", "cp", layout.context},
              {"dp", "dp", layout.data},
              {"pp", "pp", layout.pipeline}};
  run.strategies = {&data};
  if (layout.tensor > 1) run.strategies.push_back(&tensor);
  if (layout.context > 1) run.strategies.push_back(context.get());
  if (layout.expert > 1) run.strategies.push_back(&expert);
  for (const Strategy* strategy : run.strategies) strategy->factor(run.axes);
  if (layout.pipeline > 1) run.pipeline = {&schedule_of(layout.schedule), layout.chunks, {}};
  run.optimizer = &optimizer;
  run.clip = shape.clip;
  run.global_batch = shape.global_batch;
  run.micro_batch = shape.micro_batch;
  run.head_pieces = shape.head_pieces;

  TrainingResult result;
  std::mutex mutex;
  run_training(run, [&](Engine& engine, int) {
    set_reference_weights(engine);
    if (shape.change) shape.change(engine);
    RandomSource source(shape.data_seed, shape.model.vocab, shape.model.sequence);
    std::vector<StepOutcome> steps;
    for (int step = 1; step <= shape.steps; ++step) {
      steps.push_back(engine.step(source, (step - 1) * shape.global_batch, {step, 1e-3}));
      const std::lock_guard lock(mutex);
      if (step == 1) result.gradients.add(engine.gradients(), "gradient");
    }
    const std::vector<ExpertLayerOutcome> experts = engine.expert_layers();
    const EvaluationOutcome evaluation = engine.evaluate(source, 0, shape.global_batch + 1);
    const std::lock_guard lock(mutex);
    if (result.steps.empty()) {
      result.steps = steps;
      result.experts = experts;
      result.evaluation = evaluation;
    }
    result.ranks_agree =
        result.ranks_agree && result.steps == steps && result.experts == experts && result.evaluation == evaluation;
    result.weights.add(engine.tensors(), "model");
  });
  return result;
}

namespace {

/// Steps of one size along whole numbers of tokens: nothing rounds differently.
std::string router_difference(const Gathered& actual, const Gathered& expected) {
  std::string text;
  for (const auto& [name, biases] : expected.tensors) {
    if (!name.ends_with("router.bias")) continue;
    const auto found = actual.tensors.find(name);
    if (found == actual.tensors.end() || found->second != biases) text += name + " differs\n";
  }
  return text;
}

/// By layer.
std::vector<std::pair<int, std::vector<std::int64_t>>> loads_of(const TrainingResult& result) {
  std::vector<std::pair<int, std::vector<std::int64_t>>> loads;
  for (const ExpertLayerOutcome& layer : result.experts) loads.emplace_back(layer.layer, layer.load);
  return loads;
}

}  // namespace

std::string difference(const TrainingResult& actual, const TrainingResult& expected) {
  std::string text = router_difference(actual.weights, expected.weights);
  // A step without valid tokens has a gradient of rounding alone, which is nothing beside that of the first step.
  const double nothing = 1e-13 * expected.steps[0].gradient_norm;
  auto compare = [&](const std::string& what, double a, double e) {
    if (!(std::abs(a - e) <= 1e-10 * std::abs(e) + nothing))
      text += fmt::format("{} {:.17g}, expected {:.17g}\n", what, a, e);
  };
  if (!actual.ranks_agree) text += "ranks report different outcomes\n";
  if (!actual.gradients.replicas_equal || !actual.weights.replicas_equal) text += "replicas differ\n";
  for (std::size_t s = 0; s < expected.steps.size(); ++s) {
    compare(fmt::format("loss of step {}", s + 1), actual.steps[s].loss, expected.steps[s].loss);
    compare(fmt::format("norm of step {}", s + 1), actual.steps[s].gradient_norm, expected.steps[s].gradient_norm);
    if (actual.steps[s].tokens != expected.steps[s].tokens) text += fmt::format("tokens of step {}\n", s + 1);
    const ExpertOutcome &a = actual.steps[s].experts, &e = expected.steps[s].experts;
    compare(fmt::format("auxiliary loss of step {}", s + 1), a.auxiliary_loss, e.auxiliary_loss);
    compare(fmt::format("z-loss of step {}", s + 1), a.z_loss, e.z_loss);
    if (a.imbalance != e.imbalance)
      text += fmt::format("imbalance of step {}: {:.17g}, expected {:.17g}\n", s + 1, a.imbalance, e.imbalance);
  }
  if (loads_of(actual) != loads_of(expected)) text += "loads of experts in the last step\n";
  compare("evaluation", actual.evaluation.loss, expected.evaluation.loss);
  if (actual.gradients.tensors.size() != expected.gradients.tensors.size()) return text + "other tensors\n";
  for (const auto& [name, values] : expected.gradients.tensors) {
    const auto found = actual.gradients.tensors.find(name);
    if (found == actual.gradients.tensors.end() || found->second.size() != values.size()) {
      text += "no gradient of " + name + "\n";
      continue;
    }
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(values[i]));
      const double d = std::abs(found->second[i] - values[i]);
      apart = d <= apart ? apart : d;  // a NaN stays
    }
    if (!(apart <= 1e-10 * largest + 1e-13 * expected.steps[0].gradient_norm))
      text += fmt::format("gradient of {} differs by {:.3g}, largest entry {:.3g}\n", name, apart, largest);
  }
  return text;
}

}  // namespace tessera::testing_support
