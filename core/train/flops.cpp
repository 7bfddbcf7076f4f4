// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/flops.hpp"

#include <fmt/core.h>

#include <limits>

#include "core/base/error.hpp"

namespace tessera {
namespace {

/// Tables are looked up; the head reads one as a matrix and is counted apart, since a tied one is both.
bool is_matrix(ParameterRole role) {
  return role == ParameterRole::column || role == ParameterRole::kv_column || role == ParameterRole::row ||
         role == ParameterRole::router;
}

}  // namespace

TokenFlops token_flops(const ModelConfig& config) {
  const ModelGraph model = build_model(config, {1, 1, 1}, ModelPurpose::train, DType::f32);
  std::int64_t elements = config.vocab * config.hidden;
  for (const Parameter& parameter : model.graph.parameters) {
    const std::int64_t count = model.graph[parameter.value].type.shape.count();
    if (is_matrix(parameter.role)) elements += count;
    if (parameter.role == ParameterRole::expert)  // only those that a token visits work for it
      elements += count / config.experts.count * config.experts.per_token;
  }
  const std::int64_t attention = config.layers * config.heads * config.head_dim() * config.sequence;
  return {6.0 * static_cast<double>(elements), 6.0 * static_cast<double>(attention)};
}

double hardware_flops(const TokenFlops& flops, Recompute recompute, double share) {
  switch (recompute) {
    case Recompute::none:
      return flops.model();
    case Recompute::selective:
      return flops.model() + flops.attention / 3;
    case Recompute::full:
      return flops.model() + flops.model() / 3;
    case Recompute::block:
      return flops.model() + share * flops.model() / 3;
  }
  return flops.model();
}

Throughput throughput(const TokenFlops& flops, double hardware, const StepWork& work) {
  TESSERA_CHECK(work.devices > 0, fmt::format("{} devices", work.devices));
  Throughput out;
  out.tokens_per_second = static_cast<double>(work.tokens) / work.seconds;
  const double tokens_per_device = out.tokens_per_second / work.devices;
  out.model_tflops = flops.model() * tokens_per_device * 1e-12;
  const bool is_known = work.peak_flops > 0;
  out.mfu = is_known ? flops.model() * tokens_per_device / work.peak_flops : std::numeric_limits<double>::quiet_NaN();
  out.hfu = is_known ? hardware * tokens_per_device / work.peak_flops : std::numeric_limits<double>::quiet_NaN();
  return out;
}

std::string describe_flops(const TokenFlops& flops, double peak_flops) {
  const std::string peak = peak_flops > 0 ? fmt::format("a dense peak of {:.4g} TFLOP/s per device", peak_flops * 1e-12)
                                          : std::string("a peak that is unknown on this machine, so none is given");
  return fmt::format(
      "{:.4g} GFLOP per token: 6 x elements of matrices ({:.4g}), embedding lookup excluded, + causal half of "
      "attention "
      "({:.4g}); recomputation excluded.\nMFU: these FLOPs against {}. HFU adds recomputation.",
      flops.model() * 1e-9, flops.matrices * 1e-9, flops.attention * 1e-9, peak);
}

}  // namespace tessera
