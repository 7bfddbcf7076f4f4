// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  tensors seen as rows of their last dim, and sums over rows and columns whose order no thread count changes.
// Used: kernels of the host.
// Must not know: what is summed.
#pragma once

#include <array>
#include <span>

#include "core/device/kernel.hpp"
#include "core/host/elementwise.hpp"

namespace tessera::host {

/// Extent of the last dim.
inline std::int64_t width_of(const Tensor& tensor) {
  return tensor.shape[tensor.shape.rank() - 1];
}

/// Product of all other extents.
inline std::int64_t rows_of(const Tensor& tensor) {
  std::int64_t rows = 1;
  for (int dim = 0; dim + 1 < tensor.shape.rank(); ++dim) rows *= tensor.shape[dim];
  return rows;
}

/// The sum of all lanes, by halves.
template <class A>
A sum_of_lanes(const Vector<A>& vector) {
  A lanes[k_lanes<A>];
  std::memcpy(lanes, &vector, sizeof lanes);
  for (int half = k_lanes<A> / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/// Σ over i < count of function(x[i]…), a function of vectors that is 0 for zeros. The order of the sum depends on
/// `count` only: four vectors of partial sums in turn.
template <class A, class Function, class... In>
A sum_over(std::int64_t count, const Function& function, const In*... x) {
  constexpr std::int64_t lanes = k_lanes<A>;
  Vector<A> sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes)
    for (int k = 0; k < 4; ++k) sums[k] += function(load(x + i + k * lanes)...);
  for (int k = 0; i < count; i += lanes, ++k)
    sums[k] += i + lanes <= count ? function(load(x + i)...) : function(load_part(x + i, count - i)...);
  return sum_of_lanes<A>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Σ x[i]·y[i] of any two rows.
template <class T>
Accumulation<T> sum_of_products(const T* x, const T* y, std::int64_t width) {
  Reader<T> x_reader, y_reader;
  Accumulation<T> sum = 0;
  for (std::int64_t at = 0; at < width; at += k_chunk) {
    const std::int64_t n = std::min(k_chunk, width - at);
    sum += sum_over<Accumulation<T>>(
        n, [](auto a, auto b) { return a * b; }, x_reader(x + at, n), y_reader(y + at, n));
  }
  return sum;
}

/// Rows that are summed in order before blocks are: enough work for a thread, few enough blocks to add up.
inline std::int64_t rows_per_block(std::int64_t rows) {
  return std::max<std::int64_t>(16, (rows + 63) / 64);
}
inline std::int64_t row_blocks(std::int64_t rows) {
  const std::int64_t block = rows_per_block(rows);
  return (rows + block - 1) / block;
}

/// Where a sum over rows goes, one value per column; null: it is not wanted.
template <class A>
struct ColumnSum {
  A* target = nullptr;
  bool accumulate = false;  ///< onto what is there
};

/// Bytes of workspace for so many sums of sum_rows.
template <class A>
std::int64_t sum_rows_bytes(std::int64_t rows, std::int64_t width, std::int64_t sums) {
  return sums * row_blocks(rows) * width * std::int64_t(sizeof(A));
}

/// Calls row(r, partial) for every row; it adds what the row gives to partial[k][0 … width) of each sum k, and may do
/// whatever else there is to do for the row. Rows of a block are added in order, then blocks are: no thread count
/// changes the sums.
template <class A, std::size_t sums, class Row>
void sum_rows(int threads, std::int64_t rows, std::int64_t width, std::span<std::byte> workspace,
              const std::array<ColumnSum<A>, sums>& wanted, const Row& row) {
  const std::int64_t blocks = row_blocks(rows), block_rows = rows_per_block(rows);
  A* const all = reinterpret_cast<A*>(workspace.data());
  const auto partial_of = [=](std::size_t sum, std::int64_t block) {
    return all + (static_cast<std::int64_t>(sum) * blocks + block) * width;
  };
  parallel_parts(threads, blocks, [&](std::int64_t block, int) {
    std::array<A*, sums> partial;
    for (std::size_t k = 0; k < sums; ++k) std::fill_n(partial[k] = partial_of(k, block), width, A(0));
    for (std::int64_t r = block * block_rows; r < std::min(rows, (block + 1) * block_rows); ++r) row(r, partial);
  });
  for (std::size_t k = 0; k < sums; ++k) {
    A* const target = wanted[k].target;
    if (target == nullptr) continue;
    parallel_ranges(threads, width, blocks, [&](std::int64_t begin, std::int64_t end) {
      if (!wanted[k].accumulate) std::fill(target + begin, target + end, A(0));
      for (std::int64_t block = 0; block < blocks; ++block) {
        const A* const from = partial_of(k, block);
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) target[i] += from[i];
      }
    });
  }
}

}  // namespace tessera::host
