// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What a step tells: total = Σ x, pack = [x, y, …], loss_seed = loss scale ÷ count, step_decision = [norm, factor,
// skip].
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// Tokens are few: one thread adds them, in order.
template <class T>
double sum_of(const Tensor& x) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) sum += double(widen(x.as<const T>()[i]));
  return sum;
}

/// Whole numbers have the kernel of the result's type.
template <class T>
void total(const KernelCall& call) {
  const Tensor& x = call.in[0];
  const double sum = x.dtype == DType::i32 ? sum_of<std::int32_t>(x) : sum_of<T>(x);
  auto* const result = call.out[0].as<double>();
  *result = call.accumulates(0) ? *result + sum : sum;
}

void pack(const KernelCall& call) {
  auto* to = call.out[0].as<double>();
  for (const Tensor& x : call.in) to = std::copy_n(x.as<const double>(), x.count(), to);
}

void loss_seed(const KernelCall& call) {
  const double count = *call.in[0].as<const double>();
  *call.out[0].as<double>() = count == 0 ? 0 : call.step.loss_scale / count;
}

/// The norm is that of the gradients without the loss scale; the factor takes the scale off and clips. As in PyTorch,
/// 1e-6 keeps the clipped norm below the limit.
void step_decision(const KernelCall& call) {
  const double limit = call.attributes.as<attributes::Clip>().norm;
  const double norm = std::sqrt(*call.in[0].as<const double>()) / call.step.loss_scale;
  const double clip = limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0;
  const bool skip = !std::isfinite(norm);
  auto* const decision = call.out[0].as<double>();
  decision[0] = norm;
  decision[1] = skip ? 0 : clip / call.step.loss_scale;
  decision[2] = skip ? 1 : 0;
}

constexpr auto k_entries =
    join(for_floating([]<class T>() {
           return KernelEntry{"total", dtype_of<T>, total<T>, nullptr, 1U};
         }),
         std::array{KernelEntry{"pack", DType::f64, pack}, KernelEntry{"loss_seed", DType::f64, loss_seed},
                    KernelEntry{"step_decision", DType::f64, step_decision}});

}  // namespace

std::span<const KernelEntry> step_kernels() {
  return k_entries;
}

}  // namespace tessera::host
