// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  products of few rows with a large matrix that is read once: y = x·Wᵀ or x·W. What costs there is W on its way
//       from memory, so elements of W are broadcast as they lie, over vectors of rows of x, and what comes next of W is
//       fetched meanwhile. Every element of y is the same chain of fused multiply-adds as in gemm_packed.hpp, so its
//       bits are the same as well.
// Used: products of experts.
// Must not know: ops, tensors, threads.
#pragma once

#include "core/host/register_tile.hpp"

namespace tessera::host {

/// y [rows, outputs] of x [rows, depth] and w, which is read as a product's right operand: [outputs, depth] where it is
/// transposed, else [depth, outputs].
template <class T>
struct NarrowCall {
  std::int64_t rows, outputs, depth;
  const T* x;
  std::int64_t x_stride;
  MatrixView<T> w;
  T* y;
  std::int64_t y_stride;
};

/// What both ways share. Sums of a tile are outputs × one vector of rows; a panel is a vector of rows of x.
template <class T>
struct NarrowTile {
  using A = Accumulation<T>;
  static constexpr int lanes = k_lanes<A>;
  static constexpr std::int64_t outputs = k_vector_bytes == 64 ? 16 : 8;  ///< held in registers
  static constexpr std::int64_t chain = TileSizes<A>::depth;  ///< of one sum before it is added, as in gemm_packed.hpp
  static constexpr std::int64_t step = 64;                    ///< of the depth at a time; divides a chain
  static constexpr std::int64_t sums = outputs * lanes;

  static constexpr std::int64_t panels(std::int64_t rows) { return (rows + lanes - 1) / lanes; }
  static constexpr std::int64_t whole(std::int64_t count) { return (count + outputs - 1) / outputs * outputs; }

  /// Where the next part of w lies, and how much of it is fetched per step. Past the end of w nothing is fetched that
  /// anybody needs, which does no harm.
  struct Ahead {
    const T* at;
    std::int64_t row, stride;  ///< elements of one row, and from row to row
    std::int64_t left = row;

    void fetch() {
      constexpr std::int64_t line = 64 / std::int64_t(sizeof(T));
      for (std::int64_t i = 0; i < outputs; i += line) __builtin_prefetch(at + i);
      at += outputs;
      left -= outputs;
      if (left > 0) return;
      at += stride - row + left;
      left = row;
    }
  };

  /// sum[o] += w[o·output_stride + p·depth_stride] · x[p] for p < depth.
  template <std::int64_t output_stride>
  static void multiply(const A* __restrict w, std::int64_t depth_stride, const A* __restrict x, std::int64_t depth,
                       Vector<A> (&sum)[outputs], Ahead* ahead) {
    const auto multiply_column = [&](std::int64_t p) {
      const Vector<A> column = load(x + p * lanes);
#pragma GCC unroll 16
      for (int o = 0; o < outputs; ++o) sum[o] += w[o * output_stride + p * depth_stride] * column;
    };
    if (ahead == nullptr) {
      for (std::int64_t p = 0; p < depth; ++p) multiply_column(p);
      return;
    }
    Ahead next = *ahead;
    for (std::int64_t p = 0; p < depth; ++p) {
      multiply_column(p);
      next.fetch();
    }
    *ahead = next;
  }

  /// Adds w·x from k on to the sums of a tile; sums of unfinished chains wait in `chains`.
  template <std::int64_t output_stride>
  static void add_step(const NarrowCall<T>& call, std::int64_t k, const A* w, std::int64_t depth_stride, const A* x,
                       A* chains, A* sums, Ahead* ahead) {
    const std::int64_t part = std::min(step, call.depth - k);
    Vector<A> sum[outputs] = {};
    if (k % chain != 0)
#pragma GCC unroll 16
      for (int o = 0; o < outputs; ++o) sum[o] = load(chains + o * lanes);
    multiply<output_stride>(w, depth_stride, x, part, sum, ahead);
    const bool ends = (k + part) % chain == 0 || k + part == call.depth;
    A* const to = ends ? sums : chains;
    if (ends && k >= chain)
#pragma GCC unroll 16
      for (int o = 0; o < outputs; ++o) sum[o] += load(to + o * lanes);
#pragma GCC unroll 16
    for (int o = 0; o < outputs; ++o) store(to + o * lanes, sum[o]);
  }

  /// x as panels, transposed; missing rows are cleared.
  static void pack_x(const NarrowCall<T>& call, A* target) {
    for (std::int64_t row = 0; row < call.rows; row += lanes, target += call.depth * lanes) {
      const std::int64_t n = std::min<std::int64_t>(lanes, call.rows - row);
      if (n < lanes) std::fill_n(target, call.depth * lanes, A(0));
      pack_transposed(call.x + row * call.x_stride, call.x_stride, n, call.depth, target, lanes);
    }
  }

  /// The first n outputs of a tile, a column per row of y, rounded into y.
  static void write(const NarrowCall<T>& call, std::int64_t panel, std::int64_t output, std::int64_t n, const A* from) {
    const std::int64_t row = panel * lanes, rows = std::min<std::int64_t>(lanes, call.rows - row);
    for (std::int64_t o = 0; o < n; o += lanes) {
      Vector<A> square[lanes];
      for (int i = 0; i < lanes; ++i) square[i] = load(from + (o + i) * lanes);
      Transposition<A>::run(square);
      T* const to = call.y + row * call.y_stride + output + o;
      for (std::int64_t r = 0; r < rows; ++r)
        if (o + lanes <= n)
          store(to + r * call.y_stride, square[r]);
        else
          for (std::int64_t i = 0; i < n - o; ++i) to[r * call.y_stride + i] = narrow<T>(square[r][i]);
    }
  }
};

/// x·Wᵀ: a tile's rows of w side by side, copied a few cache lines of each at a time.
template <class T>
class NarrowTransposed {
  using Tile = NarrowTile<T>;
  using A = typename Tile::A;
  static constexpr std::int64_t k_stride = Tile::step + 64 / std::int64_t(sizeof(A));  ///< rows do not share sets
  static constexpr std::int64_t k_ahead = 4 * Tile::chain;  ///< of a row that is fetched at a time

 public:
  static std::int64_t scratch_elements(std::int64_t rows, std::int64_t, std::int64_t depth) {
    return Tile::panels(rows) * (depth * Tile::lanes + 2 * Tile::sums) + Tile::outputs * k_stride;
  }

  static void run(const NarrowCall<T>& call, A* scratch) {
    const std::int64_t panels = Tile::panels(call.rows);
    A* const chains = scratch + panels * call.depth * Tile::lanes;
    A *const sums = chains + panels * Tile::sums, *const block = sums + panels * Tile::sums;
    Tile::pack_x(call, scratch);
    if (call.depth == 0) std::fill_n(sums, panels * Tile::sums, A(0));
    for (std::int64_t output = 0; output < call.outputs; output += Tile::outputs) {
      const std::int64_t n = std::min(Tile::outputs, call.outputs - output);
      const T* const w = call.w.data + output * call.w.stride;
      typename Tile::Ahead ahead{};
      for (std::int64_t k = 0; k < call.depth; k += Tile::step) {
        const std::int64_t part = std::min(Tile::step, call.depth - k);
        if (k % k_ahead == 0) ahead = ahead_of(call, w, k);
        pack_rows(w + k, call.w.stride, n, part, block, k_stride);
        for (std::int64_t panel = 0; panel < panels; ++panel)
          Tile::template add_step<k_stride>(call, k, block, 1, scratch + (panel * call.depth + k) * Tile::lanes,
                                            chains + panel * Tile::sums, sums + panel * Tile::sums,
                                            panel == 0 ? &ahead : nullptr);
      }
      for (std::int64_t panel = 0; panel < panels; ++panel)
        Tile::write(call, panel, output, n, sums + panel * Tile::sums);
    }
  }

 private:
  /// What is fetched while the tile at w is read from k on: further along its rows, or the next tile.
  static typename Tile::Ahead ahead_of(const NarrowCall<T>& call, const T* w, std::int64_t k) {
    const std::int64_t next = k + k_ahead;
    if (next < call.depth) return {w + next, std::min(k_ahead, call.depth - next), call.w.stride};
    return {w + Tile::outputs * call.w.stride, std::min(k_ahead, call.depth), call.w.stride};
  }
};

/// x·W: a few rows of w at a time, all outputs of a row, while all sums wait in the cache.
template <class T>
class NarrowAsIs {
  using Tile = NarrowTile<T>;
  using A = typename Tile::A;

 public:
  static std::int64_t scratch_elements(std::int64_t rows, std::int64_t outputs, std::int64_t depth) {
    const std::int64_t width = Tile::whole(outputs);
    return Tile::panels(rows) * (depth + 2 * width) * Tile::lanes + Tile::step * width;
  }

  static void run(const NarrowCall<T>& call, A* scratch) {
    const std::int64_t width = Tile::whole(call.outputs), all = Tile::panels(call.rows) * width * Tile::lanes;
    A* const chains = scratch + Tile::panels(call.rows) * call.depth * Tile::lanes;
    A *const sums = chains + all, *const block = sums + all;
    Tile::pack_x(call, scratch);
    if (call.depth == 0) std::fill_n(sums, all, A(0));
    for (std::int64_t k = 0; k < call.depth; k += Tile::step) {
      const std::int64_t part = std::min(Tile::step, call.depth - k);
      const MatrixView<A> w = block_of(call, k, part, block);
      typename Tile::Ahead ahead{call.w.data + (k + part) * call.w.stride, call.outputs, call.w.stride};
      for (std::int64_t output = 0; output < width; output += Tile::outputs)
        for (std::int64_t panel = 0; panel < Tile::panels(call.rows); ++panel) {
          const std::int64_t at = (panel * width + output) * Tile::lanes;
          Tile::template add_step<1>(call, k, w.data + output, w.stride,
                                     scratch + (panel * call.depth + k) * Tile::lanes, chains + at, sums + at,
                                     panel == 0 ? &ahead : nullptr);
        }
    }
    for (std::int64_t panel = 0; panel < Tile::panels(call.rows); ++panel)
      for (std::int64_t output = 0; output < call.outputs; output += Tile::outputs)
        Tile::write(call, panel, output, std::min(Tile::outputs, call.outputs - output),
                    sums + (panel * width + output) * Tile::lanes);
  }

 private:
  /// Rows of w from k: themselves where tiles can read them, or a copy.
  static MatrixView<A> block_of(const NarrowCall<T>& call, std::int64_t k, std::int64_t part, A* copy) {
    const T* const from = call.w.data + k * call.w.stride;
    if constexpr (std::is_same_v<T, A>)
      if (call.outputs % Tile::outputs == 0) return {from, call.w.stride};
    pack_rows(from, call.w.stride, part, call.outputs, copy, Tile::whole(call.outputs));
    return {copy, Tile::whole(call.outputs)};
  }
};

}  // namespace tessera::host
