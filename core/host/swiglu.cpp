// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// swiglu: y = silu(gate)·up with silu(x) = x·sigmoid(x) (Shazeer 2020).
#include "core/host/elementwise.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/math.hpp"

namespace tessera::host {
namespace {

template <class T>
void swiglu(const KernelCall& call) {
  map(
      threads_of(call.stream), call.out[0].count(), call.out[0].as<T>(),
      [](auto gate, auto up) { return gate * sigmoid(gate) * up; }, call.in[0].as<const T>(), call.in[1].as<const T>());
}

template <class T>
void swiglu_grad(const KernelCall& call) {
  using A = Accumulation<T>;
  const auto gradient = [](A dy, A gate, A up) {
    const A s = sigmoid(gate);
    return std::pair{dy * up * s * (A(1) + gate * (A(1) - s)), dy * gate * s};
  };
  map_two(threads_of(call.stream), call.in[0].count(), call.out[0].as<T>(), call.out[1].as<T>(), gradient,
          call.in[0].as<const T>(), call.in[1].as<const T>(), call.in[2].as<const T>());
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"swiglu", dtype_of<T>, swiglu<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"swiglu_grad", dtype_of<T>, swiglu_grad<T>};
                                }));

}  // namespace

std::span<const KernelEntry> swiglu_kernels() {
  return k_entries;
}

}  // namespace tessera::host
