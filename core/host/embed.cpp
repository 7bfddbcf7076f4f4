// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// embed: rows of a table by id, zero where the id lies in another part of the table; embed_grad: the sum of rows per
// id.
#include <algorithm>

#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// The row of an id in a part of the table, or -1.
std::int64_t local_row(std::int32_t id, const Tensor& table) {
  const std::int64_t row = id - table.start[0];
  return row >= 0 && row < table.shape[0] ? row : -1;
}

template <class T>
void embed(const KernelCall& call) {
  const Tensor& table = call.in[0];
  const std::int64_t width = table.shape[1], tokens = call.in[1].count();
  const T* const rows = table.as<const T>();
  const auto* const ids = call.in[1].as<const std::int32_t>();
  T* const out = call.out[0].as<T>();
  parallel_ranges(threads_of(call.stream), tokens, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t row = local_row(ids[token], table);
      if (row < 0)
        std::fill_n(out + token * width, width, narrow<T>(0));
      else
        std::copy_n(rows + row * width, width, out + token * width);
    }
  });
}

/// Each thread has columns of its own and adds all tokens in order.
template <class T>
void embed_grad(const KernelCall& call) {
  using A = Accumulation<T>;
  const Tensor& table = call.out[0];
  const std::int64_t width = table.shape[1], tokens = call.in[1].count();
  const T* const dy = call.in[0].as<const T>();
  const auto* const ids = call.in[1].as<const std::int32_t>();
  A* const gradient = table.as<A>();
  const int threads = threads_of(call.stream);
  if (!call.accumulates(0))
    parallel_ranges(threads, table.count(), 1,
                    [&](std::int64_t begin, std::int64_t end) { std::fill(gradient + begin, gradient + end, A(0)); });
  parallel_ranges(threads, width, tokens, [&](std::int64_t begin, std::int64_t end) {
    Reader<T> reader;
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t row = local_row(ids[token], table);
      if (row < 0) continue;
      for (std::int64_t at = begin; at < end; at += k_chunk) {
        const std::int64_t n = std::min(k_chunk, end - at);
        const A* const values = reader(dy + token * width + at, n);
        A* const target = gradient + row * width + at;
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) target[i] += values[i];
      }
    }
  });
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"embed", dtype_of<T>, embed<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"embed_grad", dtype_of<T>, embed_grad<T>, nullptr, 1U};
                                }));

}  // namespace

std::span<const KernelEntry> embed_kernels() {
  return k_entries;
}

}  // namespace tessera::host
