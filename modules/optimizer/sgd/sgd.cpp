// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/optimizer/sgd/sgd.hpp"

#include <array>

#include "core/host/host_device.hpp"
#include "core/host/parallel.hpp"
#include "core/scheduler/elementwise_update.hpp"

namespace tessera::sgd {
namespace {

/// weights, gradient pn, decision.
const Op k_plain{.name = "sgd", .mutates = "0", .type = elementwise_update_type, .layout = elementwise_update_layout};
/// weights, gradient, velocity pn, decision.
const Op k_momentum{
    .name = "sgd_momentum", .mutates = "02", .type = elementwise_update_type, .layout = elementwise_update_layout};

/// w ← w (1 − lr · decay) − lr · u, with u = g, or u ← momentum · u + g.
template <class T, bool with_momentum>
void sgd(const KernelCall& call) {
  const double* decision = call.in[with_momentum ? 3 : 2].template as<const double>();
  if (decision[2] != 0) return;
  const auto options = call.attributes.as<Options>();
  const auto lr = static_cast<T>(call.step.learning_rate), factor = static_cast<T>(decision[1]);
  const auto keep = static_cast<T>(1 - call.step.learning_rate * options.weight_decay);
  const auto momentum = static_cast<T>(options.momentum);
  T* const weights = call.in[0].as<T>();
  const T* const gradient = call.in[1].as<const T>();
  T* const velocity = with_momentum ? call.in[2].as<T>() : nullptr;
  host::parallel_ranges(threads_of(call.stream), call.in[0].count(), 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T u = gradient[i] * factor;
      if constexpr (with_momentum) velocity[i] = u = momentum * velocity[i] + u;
      weights[i] = weights[i] * keep - lr * u;
    }
  });
}

constexpr std::array k_kernels{KernelEntry{"sgd", DType::f64, sgd<double, false>},
                               KernelEntry{"sgd", DType::f32, sgd<float, false>},
                               KernelEntry{"sgd_momentum", DType::f64, sgd<double, true>},
                               KernelEntry{"sgd_momentum", DType::f32, sgd<float, true>}};

}  // namespace

std::vector<OptimizerState> Sgd::states() const {
  if (options_.momentum == 0) return {};
  return {{"velocity"}};
}

void Sgd::update(const UpdateArgs& args, Placer& placer) const {
  Options options = options_;
  if (!args.decays) options.weight_decay = 0;
  std::vector<Value> in{args.weights, args.gradient};
  in.insert(in.end(), args.states.begin(), args.states.end());
  in.push_back(args.decision);
  placer.emit(options.momentum == 0 ? k_plain : k_momentum, in, Attributes::of(options));
}

std::span<const KernelEntry> kernels() {
  return k_kernels;
}

}  // namespace tessera::sgd
