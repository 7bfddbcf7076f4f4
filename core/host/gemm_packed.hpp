// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  our own matrix product: blocks packed for the cache, a kernel that keeps a tile of C in registers (Goto and van
//       de Geijn 2008; Van Zee and van de Geijn 2015). Every element of C is the same chain of fused multiply-adds over
//       k whatever m, n, the tile sizes and the number of threads are, so its bits depend on its own row and column
//       only.
// Used: gemm.cpp.
// Must not know: ops, tensors.
#pragma once

#include <algorithm>

#include "core/host/gemm.hpp"
#include "core/host/parallel.hpp"

namespace tessera::host {

/// Sizes of the packed product for arithmetic type A.
template <class A>
struct PackedSizes {
  static constexpr int lanes = k_lanes<A>;
  static constexpr int tile_vectors = 2;                           ///< columns of the register tile, in vectors
  static constexpr int tile_rows = k_vector_bytes == 64 ? 12 : 6;  ///< 24 of 32, or 12 of 16, registers hold C
  static constexpr int tile_columns = tile_vectors * lanes;
  static constexpr int depth = 256;                               ///< k of one packed block
  static constexpr int row_stride = depth + 64 / int(sizeof(A));  ///< rows of A must not share cache sets
  static constexpr int block_rows = 16 * tile_rows;
  static constexpr int block_columns = 16 * tile_columns;
};

/// One thread's scratch: a block of A, a block of B, and a block of C where C is stored in 16 bits.
template <class A>
struct PackedScratch {
  using Sizes = PackedSizes<A>;
  alignas(64) A a[std::size_t(Sizes::block_rows) * Sizes::row_stride];
  alignas(64) A b[std::size_t(Sizes::depth) * Sizes::block_columns];
  alignas(64) A c[std::size_t(Sizes::block_rows) * Sizes::block_columns];
};

/// Packs op(A)[row … row + rows, k …] as rows of `row_stride`, or op(B)ᵀ: see the two uses. The source element of row r
/// and position p is at source[r·stride + p], the target's at target[r·target_stride + p].
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

/// The same, transposed: the source element of row r and position p goes to target[p·target_stride + r].
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

/// A block of A as rows of `row_stride`. Rows up to a whole register tile are cleared so that the kernel may read them.
template <class T>
void pack_a(const MatrixView<T>& a, std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t depth,
            Accumulation<T>* target) {
  using Sizes = PackedSizes<Accumulation<T>>;
  if (a.read == Read::as_is)
    pack_rows(a.data + row * a.stride + k, a.stride, rows, depth, target, Sizes::row_stride);
  else
    pack_transposed(a.data + k * a.stride + row, a.stride, depth, rows, target, Sizes::row_stride);
  const std::int64_t whole = (rows + Sizes::tile_rows - 1) / Sizes::tile_rows * Sizes::tile_rows;
  for (std::int64_t r = rows; r < whole; ++r) std::fill_n(target + r * Sizes::row_stride, depth, Accumulation<T>(0));
}

/// A block of B as panels of `tile_columns` columns, k outer within a panel; missing columns are cleared.
template <class T>
void pack_b(const MatrixView<T>& b, std::int64_t k, std::int64_t depth, std::int64_t column, std::int64_t columns,
            Accumulation<T>* target) {
  using A = Accumulation<T>;
  constexpr std::int64_t width = PackedSizes<A>::tile_columns;
  for (std::int64_t first = 0; first < columns; first += width) {
    const std::int64_t n = std::min(width, columns - first);
    A* const panel = target + first * depth;
    if (b.read == Read::as_is)
      pack_rows(b.data + k * b.stride + column + first, b.stride, depth, n, panel, width);
    else
      pack_transposed(b.data + (column + first) * b.stride + k, b.stride, n, depth, panel, width);
    if (n < width)
      for (std::int64_t p = 0; p < depth; ++p) std::fill(panel + p * width + n, panel + (p + 1) * width, A(0));
  }
}

/// The register tile: sums[i][j] = Σ a[i, p]·b[p, j] over p in order. `a` has rows of `row_stride`, `b` is a panel.
template <class A>
struct RegisterTile {
  using Sizes = PackedSizes<A>;
  Vector<A> sums[Sizes::tile_rows][Sizes::tile_vectors];

  void multiply(const A* __restrict a, const A* __restrict b, std::int64_t depth) {
    Vector<A> sum[Sizes::tile_rows][Sizes::tile_vectors] = {};
    for (std::int64_t p = 0; p < depth; ++p) {
      Vector<A> column[Sizes::tile_vectors];
#pragma GCC unroll 4
      for (int j = 0; j < Sizes::tile_vectors; ++j) column[j] = load(b + p * Sizes::tile_columns + j * Sizes::lanes);
#pragma GCC unroll 16
      for (int i = 0; i < Sizes::tile_rows; ++i) {
        const A factor = a[i * Sizes::row_stride + p];
#pragma GCC unroll 4
        for (int j = 0; j < Sizes::tile_vectors; ++j) sum[i][j] += factor * column[j];
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < Sizes::tile_rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Sizes::tile_vectors; ++j) sums[i][j] = sum[i][j];
  }

  /// c = beta·c + alpha·sums on the tile's first `rows` × `columns`; c is not read when beta is 0.
  void write(A alpha, A beta, A* c, std::int64_t stride, std::int64_t rows, std::int64_t columns) const {
    if (columns == Sizes::tile_columns) {
      for (std::int64_t i = 0; i < rows; ++i)
        for (int j = 0; j < Sizes::tile_vectors; ++j) {
          A* const at = c + i * stride + j * Sizes::lanes;
          const Vector<A> product = alpha * sums[i][j];
          store(at, beta == A(0) ? product : product + beta * load(at));
        }
      return;
    }
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        A& at = c[i * stride + j];
        const A product = alpha * sums[i][j / Sizes::lanes][j % Sizes::lanes];
        at = beta == A(0) ? product : product + beta * at;
      }
  }
};

/// One block of C, all of k: the part of the work that one thread does alone.
template <class T, class C>
class PackedBlock {
 public:
  using A = Accumulation<T>;
  using Sizes = PackedSizes<A>;

  PackedBlock(const GemmCall<T, C>& call, PackedScratch<A>& scratch) : call_(call), scratch_(scratch) {}

  void run(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    constexpr bool direct = std::is_same_v<C, A>;
    A* c = scratch_.c;
    std::int64_t stride = Sizes::block_columns;
    if constexpr (direct) {
      c = call_.c + row * call_.c_stride + column;
      stride = call_.c_stride;
    }
    for (std::int64_t k = 0; k < std::max<std::int64_t>(call_.k, 1); k += Sizes::depth) {
      const std::int64_t depth = std::min<std::int64_t>(Sizes::depth, call_.k - k);
      pack_a(call_.a, row, rows, k, depth, scratch_.a);
      pack_b(call_.b, k, depth, column, columns, scratch_.b);
      const A beta = k > 0 ? A(1) : (direct ? call_.beta : A(0));
      multiply(rows, columns, depth, beta, c, stride);
    }
    if constexpr (!direct) round(row, rows, column, columns);
  }

 private:
  void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, A beta, A* c, std::int64_t stride) {
    RegisterTile<A> tile;
    for (std::int64_t i = 0; i < rows; i += Sizes::tile_rows)
      for (std::int64_t j = 0; j < columns; j += Sizes::tile_columns) {
        tile.multiply(scratch_.a + i * Sizes::row_stride, scratch_.b + j * depth, depth);
        tile.write(call_.alpha, beta, c + i * stride + j, stride, std::min<std::int64_t>(Sizes::tile_rows, rows - i),
                   std::min<std::int64_t>(Sizes::tile_columns, columns - j));
      }
  }

  void round(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        C& at = call_.c[(row + i) * call_.c_stride + column + j];
        const A product = scratch_.c[i * Sizes::block_columns + j];
        at = narrow<C>(call_.beta == A(0) ? product : product + call_.beta * widen(at));
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

template <class T, class C>
void gemm_packed(const GemmCall<T, C>& call, std::span<std::byte> workspace, int threads) {
  using Sizes = PackedSizes<Accumulation<T>>;
  using Scratch = PackedScratch<Accumulation<T>>;
  if (call.m == 0 || call.n == 0) return;
  std::int64_t block_rows = even_block(call.m, Sizes::block_rows, Sizes::tile_rows);
  std::int64_t block_columns = even_block(call.n, Sizes::block_columns, Sizes::tile_columns);
  const auto parts = [](std::int64_t extent, std::int64_t block) { return (extent + block - 1) / block; };
  while (threads > 1 && block_columns > 2 * Sizes::tile_columns &&
         parts(call.m, block_rows) * parts(call.n, block_columns) < 4L * threads)
    block_columns = even_block(call.n, block_columns / 2, Sizes::tile_columns);
  const std::int64_t row_parts = parts(call.m, block_rows), column_parts = parts(call.n, block_columns);
  auto* const scratch = reinterpret_cast<Scratch*>(workspace.data());
  parallel_parts(threads, row_parts * column_parts, [&](std::int64_t part, int thread) {
    const std::int64_t row = part / column_parts * block_rows, column = part % column_parts * block_columns;
    PackedBlock<T, C>(call, scratch[thread])
        .run(row, std::min(block_rows, call.m - row), column, std::min(block_columns, call.n - column));
  });
}

}  // namespace tessera::host
