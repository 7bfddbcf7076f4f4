// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the three products of a linear layer y = x wᵀ with w [out, in], as calls of a matrix product.
// Used: the kernels that compute them, one file per variant.
// Must not know: how a product is computed.
#pragma once

#include "core/device/kernel.hpp"
#include "core/host/gemm.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {

template <class T>
GemmCall<T, T> forward_call(const KernelCall& call) {
  const Tensor &x = call.in[0], &w = call.in[1];
  const std::int64_t in = w.shape[1], out = w.shape[0];
  return {.m = rows_of(x),
          .n = out,
          .k = in,
          .a = {x.as<const T>(), in},
          .b = {w.as<const T>(), in, Read::transposed},
          .c = call.out[0].as<T>(),
          .c_stride = out};
}

template <class T>
GemmCall<T, T> input_gradient_call(const KernelCall& call) {
  const Tensor &dy = call.in[0], &w = call.in[1];
  const std::int64_t in = w.shape[1], out = w.shape[0];
  return {.m = rows_of(dy),
          .n = in,
          .k = out,
          .a = {dy.as<const T>(), out},
          .b = {w.as<const T>(), in},
          .c = call.out[0].as<T>(),
          .c_stride = in};
}

template <class T>
GemmCall<T, Accumulation<T>> weight_gradient_call(const KernelCall& call) {
  const Tensor &dy = call.in[0], &x = call.in[1], &dw = call.out[0];
  const std::int64_t in = dw.shape[1], out = dw.shape[0];
  return {.m = out,
          .n = in,
          .k = rows_of(dy),
          .a = {dy.as<const T>(), out, Read::transposed},
          .b = {x.as<const T>(), in},
          .c = dw.as<Accumulation<T>>(),
          .c_stride = in,
          .result = call.accumulates(0) ? Result::add : Result::assign};
}

}  // namespace tessera::host
