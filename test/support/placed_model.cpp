// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/placed_model.hpp"

#include "core/base/counter_rng.hpp"
#include "core/scheduler/differentiate.hpp"
#include "core/scheduler/expand.hpp"
#include "test/support/naive_executor.hpp"

namespace tessera::test {
namespace {

/// Documents of a few tokens: number of the document, and place in it.
void add_documents(NamedValues& inputs, const MicroBatch& m, std::uint64_t seed) {
  const Values draws = random_values(seed, m.sequence * m.batch);
  Values &document = inputs["document"], &position = inputs["position"];
  document.assign(draws.size(), 0);
  position.assign(draws.size(), 0);
  const auto row = static_cast<std::size_t>(m.batch);
  for (std::size_t i = row; i < draws.size(); ++i) {
    const bool starts = draws[i] > 0.7;
    document[i] = document[i - row] + (starts ? 1 : 0);
    position[i] = starts ? 0 : position[i - row] + 1;
  }
}

}  // namespace

NamedValues random_inputs(const ModelConfig& config, const MicroBatch& m, std::uint64_t seed) {
  const std::int64_t tokens = m.sequence * m.batch;
  NamedValues inputs{{"ids", random_integers(seed, tokens, 0, config.vocab)},
                     {"target", random_integers(seed + 1, tokens, 0, config.vocab)}};
  const Values draws = random_values(seed + 2, tokens);
  for (std::int64_t i = 0; i < tokens; ++i) {
    const double share = 0.2 + 0.75 * static_cast<double>(i % m.batch) / static_cast<double>(m.batch);
    inputs["mask"].push_back((draws[static_cast<std::size_t>(i)] + 1) / 2 < share ? 1 : 0);
    inputs["index"].push_back(static_cast<double>(i / m.batch));
  }
  for (std::int64_t b = 0; b < m.batch; ++b) inputs["sample"].push_back(static_cast<double>(100 + b));
  add_documents(inputs, m, seed + 3);
  return inputs;
}

NamedValues random_weights(const ModelConfig& config, std::uint64_t seed) {
  NamedValues weights;
  const ModelGraph model = build_model(config, {1, 1, 1}, ModelPurpose::train, DType::f64);
  for (const Parameter& parameter : model.graph.parameters) {
    Values values = random_values(seed + hash_name(parameter.name()), model.graph[parameter.value].type.shape.count());
    const bool gain = parameter.initial == Initial::ones;
    for (double& x : values) x = gain ? 1 + 0.5 * x : 0.7 * x;
    weights[parameter.name()] = std::move(values);
  }
  return weights;
}

NamedValues samples_of(const NamedValues& inputs, const MicroBatch& m, std::int64_t first, std::int64_t count) {
  NamedValues some;
  for (const auto& [name, values] : inputs)
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t sample = static_cast<std::int64_t>(i) % m.batch;
      if (sample >= first && sample < first + count) some[name].push_back(values[i]);
    }
  return some;
}

PlacedModel::PlacedModel(const ModelConfig& config, const MicroBatch& micro_batch, const Mesh& mesh,
                         std::span<const Strategy* const> strategies, Backward backward)
    : mesh_(mesh) {
  const ModelGraph model = build_model(config, micro_batch, ModelPurpose::train, DType::f64);
  Placer placer(placed_.graph, mesh);
  Graph logical = model.graph;
  for (const Strategy* strategy : strategies) strategy->transform(logical);
  place(placed_, placer, logical, strategies, {});
  for (Value loss : model.losses) losses_.push_back(placed_.values.at(loss));
  if (backward == Backward::left_out) return;
  ValueInfo info;
  info.type = {{}, DType::f64};
  info.role = ValueRole::input;
  info.name = "seed";
  seed_ = placed_.graph.add_value(std::move(info));
  std::vector<LossRoot> roots;
  for (Value loss : losses_) roots.push_back({loss, seed_});
  differentiate(placer, roots);
  expand(placer, strategies);
}

PlacedModel::Result PlacedModel::run(const NamedValues& inputs, const NamedValues& weights, double seed) const {
  NaiveExecutor executor(graph(), mesh_, {.seed = 3});
  for (Value v : graph().inputs) executor.set(v, inputs.at(graph()[v].name));
  for (const Parameter& parameter : graph().parameters) executor.set(parameter.value, weights.at(parameter.name()));
  if (seed_) executor.set(seed_, {seed});
  executor.run();
  Result result;
  for (Value loss : losses_) result.loss += seed * executor.assemble(loss)[0];
  for (std::size_t a = 0; a < graph().accumulators.size(); ++a) {
    const Parameter& parameter = graph().parameters.at(static_cast<std::size_t>(graph().accumulators[a].parameter));
    result.gradients[parameter.name()] = executor.accumulated(static_cast<std::int32_t>(a));
  }
  return result;
}

}  // namespace tessera::test
