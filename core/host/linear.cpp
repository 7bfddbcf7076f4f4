// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// linear: y = x wᵀ with w [out, in], and its two gradients.
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/linear_calls.hpp"

namespace tessera::host {
namespace {

template <class T>
void linear(const KernelCall& call) {
  gemm(forward_call<T>(call), call.workspace, threads_of(call.stream));
}

template <class T>
void linear_dx(const KernelCall& call) {
  gemm(input_gradient_call<T>(call), call.workspace, threads_of(call.stream));
}

template <class T>
void linear_dw(const KernelCall& call) {
  gemm(weight_gradient_call<T>(call), call.workspace, threads_of(call.stream));
}

using Operands = std::span<const Tensor>;

template <class T>
std::int64_t linear_workspace(Operands in, Operands, const Attributes&, int threads) {
  return gemm_workspace<T, T>(rows_of(in[0]), in[1].shape[0], in[1].shape[1], threads);
}

template <class T>
std::int64_t linear_dx_workspace(Operands in, Operands, const Attributes&, int threads) {
  return gemm_workspace<T, T>(rows_of(in[0]), in[1].shape[1], in[1].shape[0], threads);
}

template <class T>
std::int64_t linear_dw_workspace(Operands in, Operands out, const Attributes&, int threads) {
  return gemm_workspace<T, Accumulation<T>>(out[0].shape[0], out[0].shape[1], rows_of(in[0]), threads);
}

template <class T>
constexpr KernelEntry linear_entry{"linear", dtype_of<T>, linear<T>, linear_workspace<T>};
template <class T>
constexpr KernelEntry linear_dx_entry{"linear_dx", dtype_of<T>, linear_dx<T>, linear_dx_workspace<T>};
template <class T>
constexpr KernelEntry linear_dw_entry{"linear_dw", dtype_of<T>, linear_dw<T>, linear_dw_workspace<T>, 1U};

constexpr auto k_entries = join(for_floating([]<class T>() { return linear_entry<T>; }),
                                for_floating([]<class T>() { return linear_dx_entry<T>; }),
                                for_floating([]<class T>() { return linear_dw_entry<T>; }));

}  // namespace

std::span<const KernelEntry> linear_kernels() {
  return k_entries;
}

}  // namespace tessera::host
