// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  small products inside a kernel: operands packed by the kernel, the result in its scratch.
// Used: attention.
// Must not know: ops, threads.
#pragma once

#include "core/host/register_tile.hpp"

namespace tessera::host {

// A left operand of rows × depth is stored in blocks of up to TileSizes::depth, each whole_rows(rows) rows of
// row_stride; a right operand of depth × columns in the same blocks, each as panels. Results are row-major with any
// stride, and written in whole tiles: up to whole_rows × whole_columns.

template <class A>
constexpr std::int64_t left_elements(std::int64_t rows, std::int64_t depth) {
  using Sizes = TileSizes<A>;
  return (depth + Sizes::depth - 1) / Sizes::depth * Sizes::whole_rows(rows) * Sizes::row_stride;
}

template <class A>
constexpr std::int64_t right_elements(std::int64_t depth, std::int64_t columns) {
  return depth * TileSizes<A>::whole_columns(columns);
}

/// Calls block(k, depth, index) for the blocks of `depth`.
template <class A, class Block>
void for_depth_blocks(std::int64_t depth, const Block& block) {
  for (std::int64_t k = 0, index = 0; k < depth; k += TileSizes<A>::depth, ++index)
    block(k, std::min<std::int64_t>(TileSizes<A>::depth, depth - k), index);
}

/// Rows that lie `stride` apart.
template <class T>
void pack_left(const T* source, std::int64_t stride, std::int64_t rows, std::int64_t depth, Accumulation<T>* target) {
  using A = Accumulation<T>;
  using Sizes = TileSizes<A>;
  for_depth_blocks<A>(depth, [&](std::int64_t k, std::int64_t n, std::int64_t index) {
    A* const block = target + index * Sizes::whole_rows(rows) * Sizes::row_stride;
    pack_rows(source + k, stride, rows, n, block, Sizes::row_stride);
    for (std::int64_t row = rows; row < Sizes::whole_rows(rows); ++row)
      std::fill_n(block + row * Sizes::row_stride, n, A(0));
  });
}

/// The transposed of `depth` rows that lie `stride` apart; depth is at most TileSizes::depth.
template <class T>
void pack_left_transposed(const T* source, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                          Accumulation<T>* target) {
  using A = Accumulation<T>;
  using Sizes = TileSizes<A>;
  pack_transposed(source, stride, depth, rows, target, Sizes::row_stride);
  for (std::int64_t row = rows; row < Sizes::whole_rows(rows); ++row)
    std::fill_n(target + row * Sizes::row_stride, depth, A(0));
}

/// `depth` rows that lie `stride` apart.
template <class T>
void pack_right(const T* source, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                Accumulation<T>* target) {
  using A = Accumulation<T>;
  for_depth_blocks<A>(depth, [&](std::int64_t k, std::int64_t n, std::int64_t) {
    pack_panels(source + k * stride, stride, n, columns, target + k * TileSizes<A>::whole_columns(columns));
  });
}

/// The transposed of `columns` rows that lie `stride` apart.
template <class T>
void pack_right_transposed(const T* source, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                           Accumulation<T>* target) {
  using A = Accumulation<T>;
  for_depth_blocks<A>(depth, [&](std::int64_t k, std::int64_t n, std::int64_t) {
    pack_panels_transposed(source + k, stride, n, columns, target + k * TileSizes<A>::whole_columns(columns));
  });
}

/// What of a product a register tile's rows need.
struct RowBounds {
  std::int64_t columns;           ///< the first so many
  std::int64_t first = 0, terms;  ///< sums run over terms first … terms - 1
};

/// c = or += left·right. `bounds(i)` says what rows from i on, up to a register tile of them, need; the rest of their
/// columns is left as it is.
template <class A, class Bounds>
void multiply_packed(Result result, const A* left, const A* right, std::int64_t rows, std::int64_t columns,
                     std::int64_t depth, A* c, std::int64_t stride, const Bounds& bounds) {
  using Sizes = TileSizes<A>;
  for_depth_blocks<A>(depth, [&](std::int64_t k, std::int64_t n, std::int64_t index) {
    const A* const a = left + index * Sizes::whole_rows(rows) * Sizes::row_stride;
    const A* const b = right + k * Sizes::whole_columns(columns);
    for (std::int64_t i = 0; i < rows; i += Sizes::rows) {
      const RowBounds needed = bounds(i);
      const std::int64_t skipped = std::clamp<std::int64_t>(needed.first - k, 0, n);
      const std::int64_t terms = std::clamp<std::int64_t>(needed.terms - k, skipped, n) - skipped;
      const A *const from = a + i * Sizes::row_stride + skipped, *const panel = b + skipped * Sizes::columns;
      for (std::int64_t j = 0; j < needed.columns; j += Sizes::columns)
        if (result == Result::assign && k == 0)
          multiply_tile<Result::assign>(from, panel + j * n, terms, c + i * stride + j, stride);
        else if (terms > 0)
          multiply_tile<Result::add>(from, panel + j * n, terms, c + i * stride + j, stride);
    }
  });
}

/// All of it.
template <class A>
void multiply_packed(Result result, const A* left, const A* right, std::int64_t rows, std::int64_t columns,
                     std::int64_t depth, A* c, std::int64_t stride) {
  multiply_packed(result, left, right, rows, columns, depth, c, stride, [=](std::int64_t) {
    return RowBounds{columns, 0, depth};
  });
}

}  // namespace tessera::host
