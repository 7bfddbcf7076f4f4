// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/optimizer/adamw/adamw.hpp"

#include <array>
#include <cmath>

#include "core/host/host_device.hpp"
#include "core/host/parallel.hpp"
#include "core/scheduler/elementwise_update.hpp"

namespace tessera::adamw {
namespace {

/// weights, gradient, moment1, moment2 pn, decision.
const Op k_op{.name = "adamw", .mutates = "023", .type = elementwise_update_type, .layout = elementwise_update_layout};

/// What one element's update needs, in its type.
template <class T>
struct Factors {
  T beta1, beta2, epsilon, gradient, keep, step, root;
};

/// w ← w (1 − lr · decay) − lr · m̂ ÷ (√v̂ + ε), with m̂ and v̂ corrected for their start at zero.
template <class T>
void update_range(const Factors<T>& f, T* __restrict weights, const T* __restrict gradient, T* __restrict moment1,
                  T* __restrict moment2, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i] * f.gradient;
    const T m = f.beta1 * moment1[i] + (1 - f.beta1) * g;
    const T v = f.beta2 * moment2[i] + (1 - f.beta2) * g * g;
    moment1[i] = m;
    moment2[i] = v;
    weights[i] = weights[i] * f.keep - f.step * m / (std::sqrt(v) * f.root + f.epsilon);
  }
}

template <class T>
void adamw(const KernelCall& call) {
  const double* decision = call.in[4].as<const double>();
  if (decision[2] != 0) return;
  const auto options = call.attributes.as<Options>();
  const auto step = static_cast<double>(call.step.step);
  const double lr = call.step.learning_rate;
  const Factors<T> factors{static_cast<T>(options.beta1),
                           static_cast<T>(options.beta2),
                           static_cast<T>(options.epsilon),
                           static_cast<T>(decision[1]),
                           static_cast<T>(1 - lr * options.weight_decay),
                           static_cast<T>(lr / (1 - std::pow(options.beta1, step))),
                           static_cast<T>(1 / std::sqrt(1 - std::pow(options.beta2, step)))};
  host::parallel_ranges(threads_of(call.stream), call.in[0].count(), 4, [&](std::int64_t begin, std::int64_t end) {
    update_range(factors, call.in[0].as<T>() + begin, call.in[1].as<const T>() + begin, call.in[2].as<T>() + begin,
                 call.in[3].as<T>() + begin, end - begin);
  });
}

constexpr std::array k_kernels{KernelEntry{"adamw", DType::f64, adamw<double>},
                               KernelEntry{"adamw", DType::f32, adamw<float>}};

}  // namespace

std::vector<OptimizerState> AdamW::states() const {
  return {{"moment1"}, {"moment2"}};
}

void AdamW::update(const UpdateArgs& args, Placer& placer) const {
  Options options = options_;
  if (!args.decays) options.weight_decay = 0;
  const Value in[] = {args.weights, args.gradient, args.states[0], args.states[1], args.decision};
  placer.emit(k_op, in, Attributes::of(options));
}

std::span<const KernelEntry> kernels() {
  return k_kernels;
}

}  // namespace tessera::adamw
