// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// linear: y = x wᵀ with w [out, in], and its two gradients.
#include "core/host/gemm.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

template <class T>
void linear(const KernelCall& call) {
  const Tensor &x = call.in[0], &w = call.in[1], &y = call.out[0];
  const std::int64_t in = w.shape[1], out = w.shape[0];
  gemm(GemmCall<T, T>{.m = rows_of(x),
                      .n = out,
                      .k = in,
                      .a = {x.as<const T>(), in},
                      .b = {w.as<const T>(), in, Read::transposed},
                      .c = y.as<T>(),
                      .c_stride = out},
       call.workspace, threads_of(call.stream));
}

template <class T>
void linear_dx(const KernelCall& call) {
  const Tensor &dy = call.in[0], &w = call.in[1], &dx = call.out[0];
  const std::int64_t in = w.shape[1], out = w.shape[0];
  gemm(GemmCall<T, T>{.m = rows_of(dy),
                      .n = in,
                      .k = out,
                      .a = {dy.as<const T>(), out},
                      .b = {w.as<const T>(), in},
                      .c = dx.as<T>(),
                      .c_stride = in},
       call.workspace, threads_of(call.stream));
}

template <class T>
void linear_dw(const KernelCall& call) {
  using A = Accumulation<T>;
  const Tensor &dy = call.in[0], &x = call.in[1], &dw = call.out[0];
  const std::int64_t in = dw.shape[1], out = dw.shape[0];
  gemm(GemmCall<T, A>{.m = out,
                      .n = in,
                      .k = rows_of(dy),
                      .a = {dy.as<const T>(), out, Read::transposed},
                      .b = {x.as<const T>(), in},
                      .c = dw.as<A>(),
                      .c_stride = in,
                      .result = call.accumulates(0) ? Result::add : Result::assign},
       call.workspace, threads_of(call.stream));
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
