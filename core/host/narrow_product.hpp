// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  products of few rows with a large matrix that is read once: y = x·Wᵀ or x·W. What costs there is W on its way
//       from memory, so elements of W are broadcast from where they lie, over vectors of rows of x, and what comes next
//       of W is fetched meanwhile. Every element of y is the same chain of fused multiply-adds as in gemm_packed.hpp,
//       so its bits are the same as well.
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

/// Where the next part of w lies, and `share` elements of it that are fetched per step. Past the end of w nothing is
/// fetched that anybody needs, which does no harm.
template <class T, std::int64_t share, int locality>
struct Ahead {
  const T* at = nullptr;             ///< null: nothing is fetched
  std::int64_t row = 0, stride = 0;  ///< elements of one row, and from row to row
  std::int64_t left = row;

  void fetch() {
    constexpr std::int64_t line = 64 / std::int64_t(sizeof(T));
    for (std::int64_t i = 0; i < share; i += line) __builtin_prefetch(at + i, 0, locality);
    at += share;
    left -= share;
    if (left > 0) return;
    at += stride - row + left;
    left = row;
  }
};

/// What both ways share: sums of `size` outputs × one vector of rows, held in registers. A panel is a vector of rows.
template <class T, std::int64_t size>
struct NarrowTile {
  using A = Accumulation<T>;
  static constexpr int lanes = k_lanes<A>;
  static constexpr std::int64_t chain = TileSizes<A>::depth;  ///< of one sum before it is added, as in gemm_packed.hpp

  static constexpr std::int64_t panels(std::int64_t rows) { return (rows + lanes - 1) / lanes; }

  /// sum[o] += w(o, p) · x[p] for p < depth.
  template <class Weight, class Next>
  static void multiply(const Weight& w, const A* __restrict x, std::int64_t depth, Vector<A> (&sum)[size],
                       Next* ahead) {
    const auto add_column = [&](std::int64_t p) {
      const Vector<A> column = load(x + p * lanes);
#pragma GCC unroll 16
      for (int o = 0; o < size; ++o) sum[o] += w(o, p) * column;
    };
    if (ahead == nullptr || ahead->at == nullptr) {
      for (std::int64_t p = 0; p < depth; ++p) add_column(p);
      return;
    }
    Next next = *ahead;
    for (std::int64_t p = 0; p < depth; ++p) {
      add_column(p);
      next.fetch();
    }
    *ahead = next;
  }

  static void load_sums(const A* from, Vector<A> (&sum)[size]) {
#pragma GCC unroll 16
    for (int o = 0; o < size; ++o) sum[o] = load(from + o * lanes);
  }
  static void store_sums(Result result, const Vector<A> (&sum)[size], A* to) {
#pragma GCC unroll 16
    for (int o = 0; o < size; ++o)
      store(to + o * lanes, result == Result::assign ? sum[o] : sum[o] + load(to + o * lanes));
  }
};

/// x as panels, transposed; missing rows are cleared.
template <class T>
void pack_narrow(const NarrowCall<T>& call, Accumulation<T>* target) {
  using A = Accumulation<T>;
  constexpr std::int64_t lanes = k_lanes<A>;
  for (std::int64_t row = 0; row < call.rows; row += lanes, target += call.depth * lanes) {
    const std::int64_t n = std::min(lanes, call.rows - row);
    if (n < lanes) std::fill_n(target, call.depth * lanes, A(0));
    pack_transposed(call.x + row * call.x_stride, call.x_stride, n, call.depth, target, lanes);
  }
}

/// Asks for the memory of y that will take outputs from `output` on, up to a cache line of each row.
template <class T>
void fetch_narrow(const NarrowCall<T>& call, std::int64_t output) {
  for (std::int64_t row = 0; row < call.rows; ++row) __builtin_prefetch(call.y + row * call.y_stride + output, 1);
}

/// n outputs from `output` on of a panel, whose sums lie one vector of rows after the other, rounded into y. Reads
/// whole squares of sums.
template <class T>
void write_narrow(const NarrowCall<T>& call, std::int64_t panel, std::int64_t output, std::int64_t n,
                  const Accumulation<T>* sums) {
  using A = Accumulation<T>;
  constexpr std::int64_t lanes = k_lanes<A>;
  const std::int64_t row = panel * lanes, rows = std::min(lanes, call.rows - row);
  for (std::int64_t o = 0; o < n; o += lanes) {
    Vector<A> square[lanes];
    for (std::int64_t i = 0; i < lanes; ++i) square[i] = load(sums + (o + i) * lanes);
    Transposition<A>::run(square);
    T* const to = call.y + row * call.y_stride + output + o;
    for (std::int64_t r = 0; r < rows; ++r)
      if (o + lanes <= n)
        store(to + r * call.y_stride, square[r]);
      else
        for (std::int64_t i = 0; i < n - o; ++i) to[r * call.y_stride + i] = narrow<T>(square[r][i]);
  }
}

/// x·Wᵀ: eight rows of w side by side, as many as the sets of a first-level cache hold of rows that lie whole pages
/// apart.
template <class T>
class NarrowTransposed {
  static constexpr std::int64_t k_size = 8;
  using Tile = NarrowTile<T, k_size>;
  using A = typename Tile::A;
  using Next = Ahead<T, k_size, 2>;
  static constexpr std::int64_t k_group = std::max<std::int64_t>(k_size, Tile::lanes);  ///< outputs written together
  static constexpr std::int64_t k_sums = k_group * Tile::lanes;                         ///< of one panel
  static constexpr std::int64_t k_stride = TileSizes<A>::row_stride;                    ///< of copied rows
  static constexpr std::int64_t k_page = 4096;
  static constexpr std::int64_t k_tiles_ahead = 4;

 public:
  static std::int64_t scratch_elements(std::int64_t rows, std::int64_t, std::int64_t depth) {
    return Tile::panels(rows) * (depth * Tile::lanes + k_sums) + k_size * k_stride;
  }

  static void run(const NarrowCall<T>& call, A* scratch) {
    const std::int64_t panels = Tile::panels(call.rows);
    A* const sums = scratch + panels * call.depth * Tile::lanes;
    A* const copy = sums + panels * k_sums;
    pack_narrow(call, scratch);
    std::fill_n(sums, panels * k_sums, A(0));  // also those of outputs that are not there
    for (std::int64_t group = 0; group < call.outputs; group += k_group) {
      const std::int64_t n = std::min(k_group, call.outputs - group);
      fetch_narrow(call, group);
      for (std::int64_t tile = 0; tile < n; tile += k_size)
        multiply_tile(call, group + tile, scratch, copy, sums + tile * Tile::lanes);
      for (std::int64_t panel = 0; panel < panels; ++panel) write_narrow(call, panel, group, n, sums + panel * k_sums);
    }
  }

 private:
  static void multiply_tile(const NarrowCall<T>& call, std::int64_t output, const A* x, A* copy, A* sums) {
    const std::int64_t n = std::min(k_size, call.outputs - output);
    const T* const w = call.w.data + output * call.w.stride;
    Next ahead = ahead_of(call, w);
    for (std::int64_t k = 0; k < call.depth; k += Tile::chain) {
      const std::int64_t part = std::min(Tile::chain, call.depth - k);
      const MatrixView<A> rows = rows_of_tile(call, w + k, n, part, copy);
      for (std::int64_t panel = 0; panel < Tile::panels(call.rows); ++panel) {
        Vector<A> sum[k_size] = {};
        Tile::multiply(
            [w = rows.data, stride = rows.stride](std::int64_t o, std::int64_t p) { return w[o * stride + p]; },
            x + (panel * call.depth + k) * Tile::lanes, part, sum, panel == 0 ? &ahead : nullptr);
        Tile::store_sums(k == 0 ? Result::assign : Result::add, sum, sums + panel * k_sums);
      }
    }
  }

  /// Hardware follows long rows by itself; at the end of a page it stops.
  static Next ahead_of(const NarrowCall<T>& call, const T* w) {
    if (call.depth * std::int64_t(sizeof(T)) >= k_page) return {};
    return {w + k_tiles_ahead * k_size * call.w.stride, call.depth, call.w.stride};
  }

  /// Parts of rows of w: themselves where a whole tile can read them, or a copy.
  static MatrixView<A> rows_of_tile(const NarrowCall<T>& call, const T* w, std::int64_t n, std::int64_t part, A* copy) {
    if constexpr (std::is_same_v<T, A>)
      if (n == k_size) return {w, call.w.stride};
    pack_rows(w, call.w.stride, n, part, copy, k_stride);
    return {copy, k_stride};
  }
};

/// x·W: some rows of w at a time, all outputs of a row, while all sums wait in the cache.
template <class T>
class NarrowAsIs {
  static constexpr std::int64_t k_size = k_vector_bytes == 64 ? 16 : 8;
  using Tile = NarrowTile<T, k_size>;
  using A = typename Tile::A;
  using Next = Ahead<T, k_size, 3>;
  static constexpr std::int64_t k_step = 64;  ///< rows of w at a time; divides a chain

  static std::int64_t whole(std::int64_t outputs) { return (outputs + k_size - 1) / k_size * k_size; }

 public:
  static std::int64_t scratch_elements(std::int64_t rows, std::int64_t outputs, std::int64_t depth) {
    return Tile::panels(rows) * (depth + 2 * whole(outputs)) * Tile::lanes + k_step * whole(outputs);
  }

  static void run(const NarrowCall<T>& call, A* scratch) {
    const std::int64_t panels = Tile::panels(call.rows), panel_sums = whole(call.outputs) * Tile::lanes;
    A* const chains = scratch + panels * call.depth * Tile::lanes;  // sums that are not at their end
    A *const sums = chains + panels * panel_sums, *const copy = sums + panels * panel_sums;
    pack_narrow(call, scratch);
    if (call.depth == 0) std::fill_n(sums, panels * panel_sums, A(0));
    for (std::int64_t k = 0; k < call.depth; k += k_step) {
      const std::int64_t part = std::min(k_step, call.depth - k);
      const MatrixView<A> w = rows_of_step(call, k, part, copy);
      Next ahead{call.w.data + (k + part) * call.w.stride, call.outputs, call.w.stride};
      for (std::int64_t output = 0; output < call.outputs; output += k_size) {
        if (k + part == call.depth) fetch_narrow(call, output);
        for (std::int64_t panel = 0; panel < panels; ++panel)
          multiply_tile(call, k, {w.data + output, w.stride}, scratch + (panel * call.depth + k) * Tile::lanes,
                        chains + panel * panel_sums + output * Tile::lanes,
                        sums + panel * panel_sums + output * Tile::lanes, panel == 0 ? &ahead : nullptr);
      }
    }
    for (std::int64_t panel = 0; panel < panels; ++panel)
      write_narrow(call, panel, 0, call.outputs, sums + panel * panel_sums);
  }

 private:
  static void multiply_tile(const NarrowCall<T>& call, std::int64_t k, const MatrixView<A>& rows, const A* x, A* chains,
                            A* sums, Next* ahead) {
    const std::int64_t part = std::min(k_step, call.depth - k);
    Vector<A> sum[k_size] = {};
    if (k % Tile::chain != 0) Tile::load_sums(chains, sum);
    Tile::multiply([w = rows.data, stride = rows.stride](std::int64_t o, std::int64_t p) { return w[p * stride + o]; },
                   x, part, sum, ahead);
    const bool ends = (k + part) % Tile::chain == 0 || k + part == call.depth;
    Tile::store_sums(ends && k >= Tile::chain ? Result::add : Result::assign, sum, ends ? sums : chains);
  }

  /// Rows of w from k: themselves where whole tiles can read them, or a copy.
  static MatrixView<A> rows_of_step(const NarrowCall<T>& call, std::int64_t k, std::int64_t part, A* copy) {
    const T* const from = call.w.data + k * call.w.stride;
    if constexpr (std::is_same_v<T, A>)
      if (call.outputs % k_size == 0) return {from, call.w.stride};
    pack_rows(from, call.w.stride, part, call.outputs, copy, whole(call.outputs));
    return {copy, whole(call.outputs)};
  }
};

}  // namespace tessera::host
