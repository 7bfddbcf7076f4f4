// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  matrix products C = or += op(A)·op(B) on row-major matrices, for every storage type.
// Used: linear kernels; whoever needs a product.
// Must not know: ops, tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/host/vector.hpp"

namespace tessera::host {

enum class Read : std::uint8_t { as_is, transposed };

/// A row-major matrix in memory, `stride` elements from row to row, and how a product reads it.
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t stride;
  Read read = Read::as_is;
};

/// What becomes of the values that are in C already.
enum class Result : std::uint8_t { assign, add };

/// op(A) is [m, k], op(B) is [k, n], C is [m, n]; any extent may be 0.
template <class T, class C>
struct GemmCall {
  std::int64_t m, n, k;
  MatrixView<T> a, b;
  C* c;
  std::int64_t c_stride;
  Result result = Result::assign;
};

/// Bytes of scratch that `gemm` needs for operands of type T and a result of type C.
template <class T, class C>
std::int64_t gemm_workspace(std::int64_t m, std::int64_t n, std::int64_t k, int threads);

/// Computes the product on up to `threads` threads. C is T, or the type in which T is accumulated. The bits of an
/// element of C depend on its own row and column only: not on threads, nor on how many rows and columns there are.
template <class T, class C>
void gemm(const GemmCall<T, C>& call, std::span<std::byte> workspace, int threads);

}  // namespace tessera::host
