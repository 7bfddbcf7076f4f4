// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// sum_squares = Σ x², in double.
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// Elements of one part; their number alone fixes the order of the sum.
constexpr std::int64_t k_block = 1 << 15;

std::int64_t blocks_of(std::int64_t count) {
  return (count + k_block - 1) / k_block;
}

template <class T>
double sum_of_block(const T* x, std::int64_t count) {
  constexpr int k_sums = 32;
  Reader<T> reader;
  double sums[k_sums] = {};
  for (std::int64_t at = 0; at < count; at += k_chunk) {
    const std::int64_t n = std::min(k_chunk, count - at);
    const Accumulation<T>* const values = reader(x + at, n);
    std::int64_t i = 0;
    for (; i + k_sums <= n; i += k_sums)
#pragma omp simd
      for (int k = 0; k < k_sums; ++k) sums[k] += double(values[i + k]) * double(values[i + k]);
    for (; i < n; ++i) sums[i % k_sums] += double(values[i]) * double(values[i]);
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

template <class T>
void sum_squares(const KernelCall& call) {
  const std::int64_t count = call.in[0].count(), blocks = blocks_of(count);
  const T* const x = call.in[0].as<const T>();
  auto* const partial = reinterpret_cast<double*>(call.workspace.data());
  parallel_parts(threads_of(call.stream), blocks, [&](std::int64_t block, int) {
    partial[block] = sum_of_block(x + block * k_block, std::min(k_block, count - block * k_block));
  });
  double sum = 0;
  for (std::int64_t block = 0; block < blocks; ++block) sum += partial[block];
  auto* const result = call.out[0].as<double>();
  *result = call.accumulates(0) ? *result + sum : sum;
}

std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int) {
  return blocks_of(in[0].count()) * std::int64_t(sizeof(double));
}

constexpr auto k_entries = for_floating([]<class T>() {
  return KernelEntry{"sum_squares", dtype_of<T>, sum_squares<T>, workspace, 1U};
});

}  // namespace

std::span<const KernelEntry> sum_squares_kernels() {
  return k_entries;
}

}  // namespace tessera::host
