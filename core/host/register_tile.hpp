// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the inner kernel of every product: a tile of C held in registers while k runs, and the packing that it reads.
// Used: the matrix product, attention.
// Must not know: blocks, threads, ops.
#pragma once

#include <algorithm>

#include "core/host/gemm.hpp"

namespace tessera::host {

/// The register tile for arithmetic type A. Its left operand is rows of `row_stride` elements, up to `depth` of them
/// used; its right operand is panels of `columns` columns, k outer within a panel.
template <class A>
struct TileSizes {
  static constexpr int lanes = k_lanes<A>;
  static constexpr int vectors = 2;                           ///< columns, in vectors
  static constexpr int rows = k_vector_bytes == 64 ? 12 : 6;  ///< 24 of 32, or 12 of 16, registers hold C
  static constexpr int columns = vectors * lanes;
  static constexpr int depth = 256;                               ///< largest k of one packed block
  static constexpr int row_stride = depth + 64 / int(sizeof(A));  ///< odd in cache lines: rows do not share sets

  static constexpr std::int64_t whole_rows(std::int64_t count) { return (count + rows - 1) / rows * rows; }
  static constexpr std::int64_t whole_columns(std::int64_t count) { return (count + columns - 1) / columns * columns; }
};

/// Widens `rows` rows of `count` elements, `stride` apart, into rows `target_stride` apart.
template <class T>
void pack_rows(const T* source, std::int64_t stride, std::int64_t rows, std::int64_t count, Accumulation<T>* target,
               std::int64_t target_stride) {
  constexpr int lanes = k_lanes<Accumulation<T>>;
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const from = source + row * stride;
    Accumulation<T>* const to = target + row * target_stride;
    std::int64_t p = 0;
    for (; p + lanes <= count; p += lanes) store(to + p, load(from + p));
    for (; p < count; ++p) to[p] = widen(from[p]);
  }
}

/// The same, transposed: element p of row r goes to target[p·target_stride + r].
template <class T>
void pack_transposed(const T* source, std::int64_t stride, std::int64_t rows, std::int64_t count,
                     Accumulation<T>* target, std::int64_t target_stride) {
  using A = Accumulation<T>;
  constexpr int lanes = k_lanes<A>;
  for (std::int64_t row = 0; row < rows; row += lanes) {
    std::int64_t p = 0;
    if (row + lanes <= rows) {
      for (; p + lanes <= count; p += lanes) {
        Vector<A> block[lanes];
        for (int i = 0; i < lanes; ++i) block[i] = load(source + (row + i) * stride + p);
        Transposition<A>::run(block);
        for (int i = 0; i < lanes; ++i) store(target + (p + i) * target_stride + row, block[i]);
      }
    }
    for (std::int64_t r = row; r < std::min<std::int64_t>(row + lanes, rows); ++r)
      for (std::int64_t q = p; q < count; ++q) target[q * target_stride + r] = widen(source[r * stride + q]);
  }
}

/// Panels of a right operand of `depth` × `columns` whose rows lie `stride` apart. Missing columns are cleared. One
/// panel after the other, though each takes little of a row: panels lie a multiple of 4 KiB apart, where writes would
/// collide.
template <class T>
void pack_panels(const T* source, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                 Accumulation<T>* target) {
  using A = Accumulation<T>;
  constexpr std::int64_t width = TileSizes<A>::columns;
  for (std::int64_t first = 0; first < columns; first += width) {
    const std::int64_t n = std::min(width, columns - first);
    A* const panel = target + first * depth;
    if (n < width) std::fill_n(panel, depth * width, A(0));
    pack_rows(source + first, stride, depth, n, panel, width);
  }
}

/// The same of an operand that lies transposed: `columns` rows of `depth` elements.
template <class T>
void pack_panels_transposed(const T* source, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                            Accumulation<T>* target) {
  using A = Accumulation<T>;
  constexpr std::int64_t width = TileSizes<A>::columns;
  for (std::int64_t first = 0; first < columns; first += width) {
    const std::int64_t n = std::min(width, columns - first);
    A* const panel = target + first * depth;
    if (n < width) std::fill_n(panel, depth * width, A(0));
    pack_transposed(source + first * stride, stride, n, depth, panel, width);
  }
}

/// C = or += Σ a[i, p]·b[p, j] over p in order, on one whole register tile: one chain of fused multiply-adds per
/// element.
template <Result result, class A>
void multiply_tile(const A* __restrict a, const A* __restrict b, std::int64_t depth, A* __restrict c,
                   std::int64_t stride) {
  using Sizes = TileSizes<A>;
  Vector<A> sum[Sizes::rows][Sizes::vectors] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    Vector<A> column[Sizes::vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Sizes::vectors; ++j) column[j] = load(b + p * Sizes::columns + j * Sizes::lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Sizes::rows; ++i) {
      const A factor = a[i * Sizes::row_stride + p];
#pragma GCC unroll 4
      for (int j = 0; j < Sizes::vectors; ++j) sum[i][j] += factor * column[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Sizes::rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < Sizes::vectors; ++j) {
      A* const at = c + i * stride + j * Sizes::lanes;
      store(at, result == Result::assign ? sum[i][j] : sum[i][j] + load(at));
    }
}

/// The same for the first `rows` × `columns` of a tile at the edge of C.
template <class A>
void multiply_edge(Result result, const A* a, const A* b, std::int64_t depth, A* c, std::int64_t stride,
                   std::int64_t rows, std::int64_t columns) {
  using Sizes = TileSizes<A>;
  A sums[Sizes::rows * Sizes::columns];
  multiply_tile<Result::assign>(a, b, depth, sums, Sizes::columns);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      A& at = c[i * stride + j];
      const A sum = sums[i * Sizes::columns + j];
      at = result == Result::assign ? sum : sum + at;
    }
}

}  // namespace tessera::host
