// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// add_bias: y[row, o] = x[row, o] + c[o]; bias_grad: the sum of dy over rows.
#include "core/host/elementwise.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

template <class T>
void add_bias(const KernelCall& call) {
  const std::int64_t width = call.in[1].count();
  const std::int64_t rows = width == 0 ? 0 : call.in[0].count() / width;
  const T* const x = call.in[0].as<const T>();
  const T* const bias = call.in[1].as<const T>();
  T* const y = call.out[0].as<T>();
  parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      map(
          1, width, y + row * width, [](auto a, auto b) { return a + b; }, x + row * width, bias);
  });
}

/// Columns that one part sums over all rows, in order of rows: no thread count changes the sum.
constexpr std::int64_t k_columns = 256;

template <class T>
void bias_grad(const KernelCall& call) {
  using A = Accumulation<T>;
  const std::int64_t width = call.out[0].count();
  const std::int64_t rows = width == 0 ? 0 : call.in[0].count() / width;
  const T* const dy = call.in[0].as<const T>();
  A* const gradient = call.out[0].as<A>();
  if (gradient == nullptr) return;
  parallel_parts(threads_of(call.stream), (width + k_columns - 1) / k_columns, [&](std::int64_t part, int) {
    const std::int64_t first = part * k_columns, n = std::min(k_columns, width - first);
    alignas(64) A sum[k_columns] = {};
    Reader<T> reader;
    for (std::int64_t row = 0; row < rows; ++row) {
      const A* const values = reader(dy + row * width + first, n);
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) sum[i] += values[i];
    }
    for (std::int64_t i = 0; i < n; ++i)
      gradient[first + i] = (call.accumulates(0) ? gradient[first + i] : A(0)) + sum[i];
  });
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"add_bias", dtype_of<T>, add_bias<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"bias_grad", dtype_of<T>, bias_grad<T>, nullptr, 1U};
                                }));

}  // namespace

std::span<const KernelEntry> add_bias_kernels() {
  return k_entries;
}

}  // namespace tessera::host
