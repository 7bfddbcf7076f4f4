// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// grouped_linear: y = x wᵀ for every expert's own rows and matrix w [out, in], and its two gradients. The rows of an
// expert come in parts; they are multiplied together, in blocks; few rows go a way of their own. How an expert's
// product is cut and which way it goes follows from shapes and counts alone, so any number of threads gives the same
// bits.
#include "core/host/choices.hpp"
#include "core/host/expert_blocks.hpp"
#include "core/host/gemm.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/narrow_product.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

constexpr std::int64_t k_block_rows = 512, k_block_columns = 512;

/// Rows up to which a product that is made for few is faster, as measured (`tessera bench experts`).
constexpr std::int64_t k_narrow_rows = 64;

std::int64_t blocks_of(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block;
}

/// Elements, rounded up to whole cache lines.
template <class T>
std::int64_t lines_of(std::int64_t elements) {
  constexpr std::int64_t line = 64 / std::int64_t(sizeof(T));
  return blocks_of(elements, line) * line;
}

/// Scratch of one thread: copies of two blocks of rows where those of an expert come in parts, and that of a product.
template <class T>
struct Scratch {
  std::int64_t first = 0, second = 0;  ///< elements
  std::int64_t product = 0;            ///< bytes

  Scratch(const Tensor& rows, std::int64_t first_columns, std::int64_t second_columns, std::int64_t product_bytes)
      : product(lines_of<std::byte>(product_bytes)) {
    if (rows.shape[1] <= 1) return;
    const std::int64_t most = std::min(rows.shape[1] * rows.shape[2], k_block_rows);
    first = lines_of<T>(most * first_columns);
    second = lines_of<T>(most * second_columns);
  }

  std::int64_t bytes() const { return (first + second) * std::int64_t(sizeof(T)) + product; }

  struct Part {
    T *first, *second;
    std::span<std::byte> product;
  };
  Part of_thread(std::span<std::byte> workspace, int thread) const {
    std::byte* const at = workspace.data() + thread * bytes();
    T* const rows = reinterpret_cast<T*>(at);
    return {rows, rows + first, {at + (first + second) * std::int64_t(sizeof(T)), std::size_t(product)}};
  }
};

/// The products with weights as they are (gradients of the input) or transposed (forward).
template <class T, Read weight_read>
struct RowProduct {
  using Narrow = std::conditional_t<weight_read == Read::transposed, NarrowTransposed<T>, NarrowAsIs<T>>;

  std::int64_t in, out;  ///< widths of rows
  std::int64_t columns;  ///< of one block
  Scratch<T> scratch;

  RowProduct(const Tensor& rows, const Tensor& weight)
      : in(width_of(rows)),
        out(weight.shape[weight_read == Read::transposed ? 1 : 2]),
        columns(std::clamp<std::int64_t>(out, 1, k_block_columns)),
        scratch(rows, in, columns, product_bytes(rows.shape[1] * rows.shape[2], in, columns)) {}

  static std::int64_t workspace(std::span<const Tensor> tensors, std::span<const Tensor>, const Attributes&,
                                int threads) {
    return threads * RowProduct(tensors[0], tensors[1]).scratch.bytes();
  }

  static void run(const KernelCall& call) {
    const Tensor& rows = call.in[0];
    const RowProduct product(rows, call.in[1]);
    const std::int64_t experts = rows.shape[0], row_blocks = blocks_of(rows.shape[1] * rows.shape[2], k_block_rows);
    const std::int64_t column_blocks = blocks_of(product.out, product.columns);
    const int threads = threads_of(call.stream);
    check_below("rows of an expert:", call.in[2], rows.shape[2] + 1);
    clear_behind_counts(call);
    parallel_parts(threads, experts * row_blocks * column_blocks, [&](std::int64_t part, int thread) {
      const LiveRows live(call.in[2], rows.shape[2], part / column_blocks / row_blocks);
      const std::int64_t begin = part / column_blocks % row_blocks * k_block_rows;
      if (begin >= live.count()) return;
      product.block(call, part / column_blocks / row_blocks, live, begin, part % column_blocks * product.columns,
                    product.scratch.of_thread(call.workspace, thread));
    });
  }

 private:
  void block(const KernelCall& call, std::int64_t expert, const LiveRows& live, std::int64_t begin, std::int64_t column,
             const typename Scratch<T>::Part& scratch_part) const {
    const std::int64_t end = std::min(live.count(), begin + k_block_rows), n = std::min(columns, out - column);
    const RowBlock<T> x(live, begin, end, call.in[0].as<const T>(), in, 0, in, scratch_part.first);
    const T* const weight = call.in[1].as<const T>() + expert * in * out;
    const std::int64_t place = live.place_of(begin, end);
    T* const y = call.out[0].as<T>() + column;
    T* const result = place >= 0 ? y + place * out : scratch_part.second;
    constexpr bool transposed = weight_read == Read::transposed;
    const MatrixView<T> w{weight + (transposed ? column * in : column), transposed ? in : out, weight_read};
    const std::int64_t result_stride = place >= 0 ? out : n;
    if (end - begin <= k_narrow_rows)
      Narrow::run({end - begin, n, in, x.data, x.stride, w, result, result_stride},
                  reinterpret_cast<Accumulation<T>*>(scratch_part.product.data()));
    else
      gemm(GemmCall<T, T>{end - begin, n, in, {x.data, x.stride}, w, result, result_stride}, scratch_part.product, 1);
    if (place >= 0) return;
    live.for_runs(begin, end, [&](std::int64_t row, std::int64_t to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) std::copy_n(result + (row - begin + i) * n, n, y + (to + i) * out);
    });
  }

  static std::int64_t product_bytes(std::int64_t rows, std::int64_t in, std::int64_t columns) {
    const std::int64_t narrow = Narrow::scratch_elements(std::min(rows, k_narrow_rows), columns, in);
    return std::max(narrow * std::int64_t(sizeof(Accumulation<T>)),
                    gemm_workspace<T, T>(std::min(rows, k_block_rows), columns, in, 1));
  }

  static void clear_behind_counts(const KernelCall& call) {
    const std::int64_t capacity = call.out[0].shape[2], width = width_of(call.out[0]);
    const auto* const counts = call.in[2].as<const std::int32_t>();
    T* const y = call.out[0].as<T>();
    const std::int64_t parts = call.in[2].count();
    parallel_ranges(threads_of(call.stream), parts, capacity * width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part)
        std::fill(y + (part * capacity + counts[part]) * width, y + (part + 1) * capacity * width, narrow<T>(0));
    });
  }
};

template <class T>
struct WeightProduct {
  using A = Accumulation<T>;

  std::int64_t in, out;
  std::int64_t rows;  ///< of w in one block
  Scratch<T> scratch;

  WeightProduct(const Tensor& d, const Tensor& x)
      : in(width_of(x)),
        out(width_of(d)),
        rows(std::clamp<std::int64_t>(out, 1, k_block_columns)),
        scratch(d, rows, in, product_bytes(d.shape[1] * d.shape[2], rows, in)) {}

  static std::int64_t workspace(std::span<const Tensor> tensors, std::span<const Tensor>, const Attributes&,
                                int threads) {
    return threads * WeightProduct(tensors[0], tensors[1]).scratch.bytes();
  }

  static void run(const KernelCall& call) {
    const WeightProduct product(call.in[0], call.in[1]);
    const std::int64_t row_blocks = blocks_of(product.out, product.rows);
    check_below("rows of an expert:", call.in[2], call.in[0].shape[2] + 1);
    parallel_parts(threads_of(call.stream), call.in[0].shape[0] * row_blocks, [&](std::int64_t part, int thread) {
      product.block(call, part / row_blocks, part % row_blocks * product.rows,
                    product.scratch.of_thread(call.workspace, thread));
    });
  }

 private:
  /// Rows of w from `row`: the sum over the expert's rows, block by block.
  void block(const KernelCall& call, std::int64_t expert, std::int64_t row,
             const typename Scratch<T>::Part& scratch_part) const {
    const LiveRows live(call.in[2], call.in[0].shape[2], expert);
    const std::int64_t m = std::min(rows, out - row);
    A* const w = call.out[0].as<A>() + (expert * out + row) * in;
    if (live.count() == 0 && !call.accumulates(0)) std::fill_n(w, m * in, A(0));
    for (std::int64_t begin = 0; begin < live.count(); begin += k_block_rows) {
      const std::int64_t end = std::min(live.count(), begin + k_block_rows);
      const RowBlock<T> d(live, begin, end, call.in[0].as<const T>(), out, row, m, scratch_part.first);
      const RowBlock<T> x(live, begin, end, call.in[1].as<const T>(), in, 0, in, scratch_part.second);
      gemm(GemmCall<T, A>{.m = m,
                          .n = in,
                          .k = end - begin,
                          .a = {d.data, d.stride, Read::transposed},
                          .b = {x.data, x.stride},
                          .c = w,
                          .c_stride = in,
                          .result = begin > 0 || call.accumulates(0) ? Result::add : Result::assign},
           scratch_part.product, 1);
    }
  }

  static std::int64_t product_bytes(std::int64_t depth, std::int64_t rows, std::int64_t in) {
    return gemm_workspace<T, A>(rows, in, std::min(depth, k_block_rows), 1);
  }
};

template <class T>
using Forward = RowProduct<T, Read::transposed>;
template <class T>
using InputGradient = RowProduct<T, Read::as_is>;

constexpr auto k_entries =
    join(for_floating([]<class T>() {
           return KernelEntry{"grouped_linear", dtype_of<T>, Forward<T>::run, Forward<T>::workspace};
         }),
         for_floating([]<class T>() {
           return KernelEntry{"grouped_linear_dx", dtype_of<T>, InputGradient<T>::run, InputGradient<T>::workspace};
         }),
         for_floating([]<class T>() {
           return KernelEntry{"grouped_linear_dw", dtype_of<T>, WeightProduct<T>::run, WeightProduct<T>::workspace, 1U};
         }));

}  // namespace

std::span<const KernelEntry> grouped_linear_kernels() {
  return k_entries;
}

}  // namespace tessera::host
