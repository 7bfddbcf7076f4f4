// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/optimizer/lion/lion.hpp"

#include <array>

#include "core/host/host_device.hpp"
#include "core/host/parallel.hpp"
#include "core/scheduler/elementwise_update.hpp"

namespace tessera::lion {
namespace {

/// weights, gradient, momentum pn, decision.
const Op k_op{.name = "lion", .mutates = "02", .type = elementwise_update_type, .layout = elementwise_update_layout};

template <class T>
T sign(T x) {
  return static_cast<T>((x > 0) - (x < 0));
}

/// w ← w (1 − lr · decay) − lr · sign(β₁ m + (1 − β₁) g); m ← β₂ m + (1 − β₂) g.
template <class T>
void lion(const KernelCall& call) {
  const double* decision = call.in[3].as<const double>();
  if (decision[2] != 0) return;
  const auto options = call.attributes.as<Options>();
  const auto lr = static_cast<T>(call.step.learning_rate), factor = static_cast<T>(decision[1]);
  const auto keep = static_cast<T>(1 - call.step.learning_rate * options.weight_decay);
  const auto beta1 = static_cast<T>(options.beta1), beta2 = static_cast<T>(options.beta2);
  T* const weights = call.in[0].as<T>();
  const T* const gradient = call.in[1].as<const T>();
  T* const momentum = call.in[2].as<T>();
  host::parallel_ranges(threads_of(call.stream), call.in[0].count(), 3, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T g = gradient[i] * factor;
      weights[i] = weights[i] * keep - lr * sign(beta1 * momentum[i] + (1 - beta1) * g);
      momentum[i] = beta2 * momentum[i] + (1 - beta2) * g;
    }
  });
}

constexpr std::array k_kernels{KernelEntry{"lion", DType::f64, lion<double>},
                               KernelEntry{"lion", DType::f32, lion<float>}};

}  // namespace

std::vector<OptimizerState> Lion::states() const {
  return {{"momentum"}};
}

void Lion::update(const UpdateArgs& args, Placer& placer) const {
  Options options = options_;
  if (!args.decays) options.weight_decay = 0;
  const Value in[] = {args.weights, args.gradient, args.states[0], args.decision};
  placer.emit(k_op, in, Attributes::of(options));
}

std::span<const KernelEntry> kernels() {
  return k_kernels;
}

}  // namespace tessera::lion
