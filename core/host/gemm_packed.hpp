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

/// Largest extents of the blocks of one thread. A strip of A and a block of B together fit the second-level cache of a
/// core; a block of C is several strips, so that packing B costs little.
template <class A>
struct BlockSizes {
  static constexpr int strip_rows = 16 * TileSizes<A>::rows;
  static constexpr int rows = 4 * strip_rows;
  static constexpr int columns = 16 * TileSizes<A>::columns;
  static constexpr int depth = TileSizes<A>::depth;
};

/// One thread's scratch: a strip of A, a block of B, and a block of C where C is stored in 16 bits.
template <class A>
struct PackedScratch {
  alignas(64) A a[std::size_t(BlockSizes<A>::strip_rows) * TileSizes<A>::row_stride];
  alignas(64) A b[std::size_t(BlockSizes<A>::depth) * BlockSizes<A>::columns];
  alignas(64) A c[std::size_t(BlockSizes<A>::rows) * BlockSizes<A>::columns];
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

/// One block of C, all of k: the part of the work that one thread does alone.
template <class T, class C>
class PackedBlock {
 public:
  using A = Accumulation<T>;
  using Tile = TileSizes<A>;
  using Block = BlockSizes<A>;

  PackedBlock(const GemmCall<T, C>& call, PackedScratch<A>& scratch) : call_(call), scratch_(scratch) {}

  void run(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    constexpr bool direct = std::is_same_v<C, A>;
    A* c = scratch_.c;
    std::int64_t stride = Block::columns;
    if constexpr (direct) {
      c = call_.c + row * call_.c_stride + column;
      stride = call_.c_stride;
    }
    for (std::int64_t k = 0; k < std::max<std::int64_t>(call_.k, 1); k += Block::depth) {
      const std::int64_t depth = std::min<std::int64_t>(Block::depth, call_.k - k);
      const Result result = k > 0 ? Result::add : (direct ? call_.result : Result::assign);
      pack_b(call_.b, k, depth, column, columns, scratch_.b);
      for (std::int64_t strip = 0; strip < rows; strip += Block::strip_rows) {
        const std::int64_t n = std::min<std::int64_t>(Block::strip_rows, rows - strip);
        pack_a(call_.a, row + strip, n, k, depth, scratch_.a);
        multiply(result, n, columns, depth, c + strip * stride, stride);
      }
    }
    if constexpr (!direct) round(row, rows, column, columns);
  }

 private:
  void multiply(Result result, std::int64_t rows, std::int64_t columns, std::int64_t depth, A* c, std::int64_t stride) {
    for (std::int64_t i = 0; i < rows; i += Tile::rows)
      for (std::int64_t j = 0; j < columns; j += Tile::columns) {
        const std::int64_t tile_rows = std::min<std::int64_t>(Tile::rows, rows - i);
        const std::int64_t tile_columns = std::min<std::int64_t>(Tile::columns, columns - j);
        const A *const a = scratch_.a + i * Tile::row_stride, *const b = scratch_.b + j * depth;
        A* const to = c + i * stride + j;
        for (std::int64_t r = 0; r < tile_rows; ++r)  // needed only after the sums are made
          for (int v = 0; v < Tile::vectors; ++v) __builtin_prefetch(to + r * stride + v * Tile::lanes, 1);
        if (tile_rows < Tile::rows || tile_columns < Tile::columns)
          multiply_edge(result, a, b, depth, to, stride, tile_rows, tile_columns);
        else if (result == Result::assign)
          multiply_tile<Result::assign>(a, b, depth, to, stride);
        else
          multiply_tile<Result::add>(a, b, depth, to, stride);
      }
  }

  void round(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const A* const from = scratch_.c + i * Block::columns;
      C* const to = call_.c + (row + i) * call_.c_stride + column;
      for (std::int64_t j = 0; j < columns; ++j)
        to[j] = narrow<C>(call_.result == Result::assign ? from[j] : from[j] + widen(to[j]));
    }
  }

  const GemmCall<T, C>& call_;
  PackedScratch<A>& scratch_;
};

/// The extent of blocks that cover `extent` in equal parts of at most `largest`, in whole tiles.
constexpr std::int64_t even_block(std::int64_t extent, std::int64_t largest, std::int64_t tile) {
  const std::int64_t blocks = (extent + largest - 1) / largest;
  const std::int64_t block = (extent + blocks - 1) / blocks;
  return (block + tile - 1) / tile * tile;
}

/// Blocks of C as large as the caches like, then smaller until every thread has some.
template <class A>
struct BlockGrid {
  std::int64_t rows, columns, row_parts, column_parts;

  BlockGrid(std::int64_t m, std::int64_t n, int threads)
      : rows(even_block(m, BlockSizes<A>::rows, TileSizes<A>::rows)),
        columns(even_block(n, BlockSizes<A>::columns, TileSizes<A>::columns)) {
    count(m, n);
    while (threads > 1 && row_parts * column_parts < 2L * threads) {
      if (rows > BlockSizes<A>::strip_rows)
        rows = even_block(m, rows / 2, TileSizes<A>::rows);
      else if (columns > 2 * TileSizes<A>::columns)
        columns = even_block(n, columns / 2, TileSizes<A>::columns);
      else
        break;
      count(m, n);
    }
  }

 private:
  void count(std::int64_t m, std::int64_t n) {
    row_parts = (m + rows - 1) / rows;
    column_parts = (n + columns - 1) / columns;
  }
};

template <class T, class C>
void gemm_packed(const GemmCall<T, C>& call, std::span<std::byte> workspace, int threads) {
  using A = Accumulation<T>;
  if (call.m == 0 || call.n == 0) return;
  const BlockGrid<A> grid(call.m, call.n, threads);
  auto* const scratch = reinterpret_cast<PackedScratch<A>*>(workspace.data());
  parallel_parts(threads, grid.row_parts * grid.column_parts, [&](std::int64_t part, int thread) {
    const std::int64_t row = part / grid.column_parts * grid.rows, column = part % grid.column_parts * grid.columns;
    PackedBlock<T, C>(call, scratch[thread])
        .run(row, std::min(grid.rows, call.m - row), column, std::min(grid.columns, call.n - column));
  });
}

}  // namespace tessera::host
