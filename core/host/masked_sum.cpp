// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// masked_sum = Σ x·mask in double, and spread, its gradient: d·mask.
#include "core/host/elementwise.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

/// Tokens are few: one thread adds them, in order.
template <class A>
void masked_sum(const KernelCall& call) {
  const A *const x = call.in[0].as<const A>(), *const mask = call.in[1].as<const A>();
  double sum = 0;
  for (std::int64_t i = 0; i < call.in[0].count(); ++i) sum += double(x[i]) * double(mask[i]);
  auto* const result = call.out[0].as<double>();
  *result = call.accumulates(0) ? *result + sum : sum;
}

template <class A>
void spread_to(const KernelCall& call) {
  const A factor = static_cast<A>(*call.in[0].as<const double>());
  map(
      threads_of(call.stream), call.out[0].count(), call.out[0].as<A>(), [factor](A m) { return factor * m; },
      call.in[1].as<const A>());
}

/// Its first operand is always f64, so the output's dtype decides here.
void spread(const KernelCall& call) {
  call.out[0].dtype == DType::f64 ? spread_to<double>(call) : spread_to<float>(call);
}

constexpr auto k_entries = join(for_accumulation([]<class A>() {
                                  return KernelEntry{"masked_sum", dtype_of<A>, masked_sum<A>, nullptr, 1U};
                                }),
                                std::array{KernelEntry{"spread", DType::f64, spread}});

}  // namespace

std::span<const KernelEntry> masked_sum_kernels() {
  return k_entries;
}

}  // namespace tessera::host
