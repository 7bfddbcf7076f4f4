// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/generator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/core.h>

#include "core/base/counter_rng.hpp"
#include "core/model/generation.hpp"

namespace tessera {
namespace {

Compiled compile_generation(const ModelConfig& config, std::int64_t capacity, DType dtype, const Mesh& mesh,
                            Device& device, const KernelTable& kernels) {
  ModelGraph model = build_model(config, {1, 1, 1}, ModelPurpose::generate, dtype);
  cache_attention(model.graph, capacity);
  const Target target{kernels, device.threads(), [](CallKind, std::int64_t, DType, int) { return std::int64_t{0}; }};
  return compile({model, mesh, 0, {}, target, 1, std::nullopt, nullptr});
}

}  // namespace

std::int32_t sample_token(std::span<const double> logits, const Sampling& sampling, std::uint64_t draw) {
  if (!std::all_of(logits.begin(), logits.end(), [](double logit) { return std::isfinite(logit); }))
    throw Error(ErrorKind::numerics, "the model gives values that are not finite", "Use an older checkpoint.");
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (sampling.temperature <= 0) return order[0];
  std::vector<double> weights;
  double total = 0;
  for (std::int32_t token : order) {
    const double below = logits[static_cast<std::size_t>(token)] - logits[static_cast<std::size_t>(order[0])];
    weights.push_back(std::exp(below / sampling.temperature));
    total += weights.back();
  }
  double kept = 0;
  std::size_t candidates = 0;
  while (candidates < weights.size() && (candidates == 0 || kept < sampling.top_p * total))
    kept += weights[candidates++];
  double point = CounterRng(sampling.seed, hash_name("sample")).uniform(draw) * kept;
  for (std::size_t i = 0; i + 1 < candidates; ++i)
    if ((point -= weights[i]) < 0) return order[i];
  return order[candidates - 1];
}

Generator::Generator(const ModelConfig& model, std::int64_t capacity, DType dtype, Device& device,
                     const KernelTable& kernels)
    : mesh_({{"dp", "dp", 1}}),
      capacity_(capacity),
      compiled_(compile_generation(model, capacity, dtype, mesh_, device, kernels)),
      device_(device) {
  arena_.emplace(device, compiled_.plan.memory);
  executor_.emplace(compiled_.plan, *arena_, device, communicators_);
  logits_.resize(static_cast<std::size_t>(model.vocab));
}

Generator::~Generator() = default;

std::vector<TensorPart> Generator::tensors() const {
  return tensor_parts("model", mesh_, compiled_.plan, compiled_.graph, *arena_,
                      [](const Bucket& b, std::size_t) { return b.weights; });
}

const std::vector<double>& Generator::feed(std::int32_t token) {
  if (position_ >= capacity_)
    throw Error(ErrorKind::usage, fmt::format("the text is longer than {} tokens", capacity_), "ask for fewer tokens");
  for (std::size_t i = 0; i < compiled_.plan.inputs.size(); ++i) {
    const std::string& name = compiled_.plan.input_names[i];
    std::byte* const data = arena_->at(address_in(compiled_.plan, {}, compiled_.plan.inputs[i].at));
    const auto place = static_cast<std::int32_t>(position_);
    if (name == "ids") std::memcpy(data, &token, sizeof token);
    if (name == "position") std::memcpy(data, &place, sizeof place);
  }
  StepInputs inputs;
  inputs.position = position_++;
  executor_->run(inputs);
  const Operand& logits = compiled_.plan.logits;
  const std::byte* const data = arena_->at(logits.at);
  for (std::size_t v = 0; v < logits_.size(); ++v)
    logits_[v] = logits.tensor.dtype == DType::f64 ? reinterpret_cast<const double*>(data)[v]
                                                   : static_cast<double>(reinterpret_cast<const float*>(data)[v]);
  return logits_;
}

}  // namespace tessera
