// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The fp32 products of a linear layer by oneDNN, as variants "onednn". On several threads it gives other bits than on
// one (it cuts k, or packs other blocks), so C is cut into blocks by its shape alone, and each block is one product on
// one thread. The bits depend on the number of rows all the same.
#include <dnnl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "core/base/error.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/linear_calls.hpp"
#include "core/host/parallel.hpp"

namespace tessera::host {
namespace {

constexpr std::int64_t k_block_rows = 512, k_block_columns = 512;

/// The product of nothing: oneDNN refuses the empty operands' strides, or leaves C as it is.
void assign_zeros(const GemmCall<float, float>& call) {
  for (std::int64_t i = 0; i < call.m; ++i) std::fill_n(call.c + i * call.c_stride, call.n, 0.0F);
}

/// op(A) from a row, or op(B) from a column.
const float* from_row(const MatrixView<float>& a, std::int64_t row) {
  return a.data + (a.read == Read::as_is ? row * a.stride : row);
}
const float* from_column(const MatrixView<float>& b, std::int64_t column) {
  return b.data + (b.read == Read::as_is ? column : column * b.stride);
}

void multiply(const GemmCall<float, float>& call, int threads) {
  if (call.m == 0 || call.n == 0) return;
  if (call.k == 0) {
    if (call.result == Result::assign) assign_zeros(call);
    return;
  }
#ifdef _OPENMP
  omp_set_num_threads(1);  // of oneDNN's team when the blocks below are done by this thread alone
#endif
  const auto letter = [](Read read) { return read == Read::as_is ? 'N' : 'T'; };
  const std::int64_t row_parts = (call.m + k_block_rows - 1) / k_block_rows;
  const std::int64_t column_parts = (call.n + k_block_columns - 1) / k_block_columns;
  std::atomic<int> failure{dnnl_success};
  parallel_parts(threads, row_parts * column_parts, [&](std::int64_t part, int) {
    const std::int64_t row = part / column_parts * k_block_rows, column = part % column_parts * k_block_columns;
    const dnnl_status_t status =
        dnnl_sgemm(letter(call.a.read), letter(call.b.read), std::min(k_block_rows, call.m - row),
                   std::min(k_block_columns, call.n - column), call.k, 1, from_row(call.a, row), call.a.stride,
                   from_column(call.b, column), call.b.stride, call.result == Result::add ? 1.0F : 0.0F,
                   call.c + row * call.c_stride + column, call.c_stride);
    if (status != dnnl_success) failure = status;
  });
  TESSERA_CHECK(failure == dnnl_success,
                fmt::format("dnnl_sgemm of {} x {} x {} gives status {}", call.m, call.n, call.k, failure.load()));
}

template <GemmCall<float, float> (*make)(const KernelCall&)>
void product(const KernelCall& call) {
  multiply(make(call), threads_of(call.stream));
}

constexpr std::array k_entries{
    KernelEntry{"linear", DType::f32, product<forward_call<float>>, nullptr, 0, "onednn"},
    KernelEntry{"linear_dx", DType::f32, product<input_gradient_call<float>>, nullptr, 0, "onednn"},
    KernelEntry{"linear_dw", DType::f32, product<weight_gradient_call<float>>, nullptr, 1U, "onednn"}};

}  // namespace

std::span<const KernelEntry> linear_onednn_kernels() {
  return k_entries;
}

}  // namespace tessera::host
