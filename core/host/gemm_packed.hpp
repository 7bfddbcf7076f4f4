// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  our own matrix product: blocks packed for the cache, a kernel that keeps a tile of C in registers (Goto and van
//       de Geijn 2008; Van Zee and van de Geijn 2015). Every element of C is the same chain of fused multiply-adds over
//       k whatever m, n, the block sizes and the number of threads are, so its bits depend on its own row and column
//       only.
// Used: gemm.cpp.
// Must not know: ops, tensors.
#pragma once

#include <algorithm>

#include "core/host/gemm.hpp"
#include "core/host/parallel.hpp"
#include "core/host/register_tile.hpp"

namespace tessera::host {

/// How C is cut into parts, one thread each, and the blocks within a part: for every block of k, all rows of A are
/// packed (they stream from the third-level cache), then blocks of columns of B in turn (each stays in the second-level
/// cache while all rows pass).
template <class A, bool direct>
struct GemmPlan {
  using Tile = TileSizes<A>;
  static constexpr std::int64_t depth = Tile::depth;
  static constexpr std::int64_t most_rows = 128 * Tile::rows;
  static constexpr std::int64_t block_columns = 12 * Tile::columns;
  /// Where C is stored in 16 bits its sums live in scratch, so a part must not be large.
  static constexpr std::int64_t most_columns = direct ? std::int64_t{1} << 40 : 24 * Tile::columns;

  std::int64_t m, n, k;
  std::int64_t row_parts = 1, column_parts = 1;
  std::int64_t rows = 0, columns = 0;  ///< of one part

  GemmPlan(std::int64_t m_, std::int64_t n_, std::int64_t k_, int threads) : m(m_), n(n_), k(k_) {
    if (m == 0 || n == 0) return;
    const std::int64_t most_row_parts = parts(m, Tile::rows), most_column_parts = parts(n, Tile::columns);
    row_parts = parts(m, most_rows);
    column_parts = parts(n, most_columns);
    // Another cut of the rows packs B once more, another cut of the columns A.
    while (row_parts * column_parts < threads) {
      const bool rows_can = row_parts < most_row_parts, columns_can = column_parts < most_column_parts;
      if (!rows_can && !columns_can) break;
      (rows_can && (!columns_can || n * row_parts <= m * column_parts) ? row_parts : column_parts) += 1;
    }
    rows = even_part(m, row_parts, Tile::rows);
    columns = even_part(n, column_parts, Tile::columns);
    row_parts = parts(m, rows);
    column_parts = parts(n, columns);
  }

  std::int64_t a_elements() const { return rows * Tile::row_stride; }
  std::int64_t b_elements() const { return std::min(depth, k) * std::min(block_columns, columns); }
  std::int64_t c_elements() const { return direct ? 0 : rows * columns; }
  std::int64_t scratch_elements() const {
    constexpr std::int64_t line = 64 / std::int64_t(sizeof(A));
    return (a_elements() + b_elements() + c_elements() + line - 1) / line * line;
  }

 private:
  static constexpr std::int64_t parts(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }
  static constexpr std::int64_t even_part(std::int64_t extent, std::int64_t count, std::int64_t tile) {
    return parts(parts(extent, count), tile) * tile;
  }
};

/// Rows of op(A). Rows up to a whole register tile are cleared so that the kernel may read them.
template <class T>
void pack_a(const MatrixView<T>& a, std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t depth,
            Accumulation<T>* target) {
  using Sizes = TileSizes<Accumulation<T>>;
  if (a.read == Read::as_is)
    pack_rows(a.data + row * a.stride + k, a.stride, rows, depth, target, Sizes::row_stride);
  else
    pack_transposed(a.data + k * a.stride + row, a.stride, depth, rows, target, Sizes::row_stride);
  for (std::int64_t r = rows; r < Sizes::whole_rows(rows); ++r)
    std::fill_n(target + r * Sizes::row_stride, depth, Accumulation<T>(0));
}

template <class T>
void pack_b(const MatrixView<T>& b, std::int64_t k, std::int64_t depth, std::int64_t column, std::int64_t columns,
            Accumulation<T>* target) {
  if (b.read == Read::as_is)
    pack_panels(b.data + k * b.stride + column, b.stride, depth, columns, target);
  else
    pack_panels_transposed(b.data + column * b.stride + k, b.stride, depth, columns, target);
}

/// One part of C, all of k.
template <class T, class C>
class PackedPart {
 public:
  using A = Accumulation<T>;
  static constexpr bool direct = std::is_same_v<C, A>;
  using Plan = GemmPlan<A, direct>;
  using Tile = TileSizes<A>;

  PackedPart(const GemmCall<T, C>& call, const Plan& plan, A* scratch)
      : call_(call), a_(scratch), b_(a_ + plan.a_elements()), c_(b_ + plan.b_elements()), c_stride_(plan.columns) {}

  void run(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    if constexpr (direct) {
      c_ = call_.c + row * call_.c_stride + column;
      c_stride_ = call_.c_stride;
    }
    for (std::int64_t k = 0; k < std::max<std::int64_t>(call_.k, 1); k += Plan::depth) {
      const std::int64_t depth = std::min(Plan::depth, call_.k - k);
      const Result result = k > 0 ? Result::add : (direct ? call_.result : Result::assign);
      pack_a(call_.a, row, rows, k, depth, a_);
      for (std::int64_t j = 0; j < columns; j += Plan::block_columns) {
        const std::int64_t n = std::min(Plan::block_columns, columns - j);
        pack_b(call_.b, k, depth, column + j, n, b_);
        multiply(result, rows, n, depth, c_ + j);
      }
    }
    if constexpr (!direct) round(row, rows, column, columns);
  }

 private:
  void multiply(Result result, std::int64_t rows, std::int64_t columns, std::int64_t depth, A* c) {
    for (std::int64_t i = 0; i < rows; i += Tile::rows)
      for (std::int64_t j = 0; j < columns; j += Tile::columns) {
        const std::int64_t tile_rows = std::min<std::int64_t>(Tile::rows, rows - i);
        const std::int64_t tile_columns = std::min<std::int64_t>(Tile::columns, columns - j);
        const A *const a = a_ + i * Tile::row_stride, *const b = b_ + j * depth;
        A* const to = c + i * c_stride_ + j;
        for (std::int64_t r = 0; r < tile_rows; ++r)  // needed only after the sums are made
          for (int v = 0; v < Tile::vectors; ++v) __builtin_prefetch(to + r * c_stride_ + v * Tile::lanes, 1);
        if (tile_rows < Tile::rows || tile_columns < Tile::columns)
          multiply_edge(result, a, b, depth, to, c_stride_, tile_rows, tile_columns);
        else if (result == Result::assign)
          multiply_tile<Result::assign>(a, b, depth, to, c_stride_);
        else
          multiply_tile<Result::add>(a, b, depth, to, c_stride_);
      }
  }

  void round(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const A* const from = c_ + i * c_stride_;
      C* const to = call_.c + (row + i) * call_.c_stride + column;
      for (std::int64_t j = 0; j < columns; ++j)
        to[j] = narrow<C>(call_.result == Result::assign ? from[j] : from[j] + widen(to[j]));
    }
  }

  const GemmCall<T, C>& call_;
  A *a_, *b_, *c_;
  std::int64_t c_stride_;
};

template <class T, class C>
std::int64_t gemm_workspace(std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
  using A = Accumulation<T>;
  return threads * GemmPlan<A, std::is_same_v<C, A>>(m, n, k, threads).scratch_elements() * std::int64_t(sizeof(A));
}

template <class T, class C>
void gemm(const GemmCall<T, C>& call, std::span<std::byte> workspace, int threads) {
  using A = Accumulation<T>;
  if (call.m == 0 || call.n == 0) return;
  const typename PackedPart<T, C>::Plan plan(call.m, call.n, call.k, threads);
  auto* const scratch = reinterpret_cast<A*>(workspace.data());
  parallel_parts(threads, plan.row_parts * plan.column_parts, [&](std::int64_t part, int thread) {
    const std::int64_t row = part / plan.column_parts * plan.rows, column = part % plan.column_parts * plan.columns;
    PackedPart<T, C>(call, plan, scratch + thread * plan.scratch_elements())
        .run(row, std::min(plan.rows, call.m - row), column, std::min(plan.columns, call.n - column));
  });
}

}  // namespace tessera::host
