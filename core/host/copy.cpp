// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/copy.hpp"

#include <fmt/core.h>

#include "core/host/dispatch.hpp"
#include "core/host/elementwise.hpp"

namespace tessera::host {
namespace {

/// Byte distance between neighbours in each dim of a row-major array.
std::array<std::int64_t, Shape::k_max_rank> strides_of(const Shape& array, std::int64_t element_bytes) {
  std::array<std::int64_t, Shape::k_max_rank> strides{};
  std::int64_t stride = element_bytes;
  for (int dim = array.rank() - 1; dim >= 0; --dim) {
    strides[static_cast<std::size_t>(dim)] = stride;
    stride *= array[dim];
  }
  return strides;
}

/// The trailing dims that are whole in both arrays form one run of bytes with the dim before them.
int first_contiguous_dim(const Shape& extent, const Shape& a, const Shape& b) {
  int dim = extent.rank() - 1;
  while (dim > 0 && extent[dim] == a[dim] && extent[dim] == b[dim]) --dim;
  return std::max(dim, 0);
}

}  // namespace

void copy_box(const void* source, const BoxPlace& from, void* target, const BoxPlace& to, const Shape& extent,
              std::int64_t element_bytes, int threads) {
  const int rank = extent.rank();
  TESSERA_CHECK(from.array.rank() == rank && to.array.rank() == rank, to_string(extent));
  if (extent.count() == 0) return;
  const auto from_strides = strides_of(from.array, element_bytes), to_strides = strides_of(to.array, element_bytes);
  const int run_dim = first_contiguous_dim(extent, from.array, to.array);
  const std::int64_t run_bytes = extent.count_from(run_dim) * element_bytes;
  std::int64_t from_start = 0, to_start = 0, runs = 1;
  for (int dim = 0; dim < rank; ++dim) {
    const auto d = static_cast<std::size_t>(dim);
    from_start += from.start[d] * from_strides[d];
    to_start += to.start[d] * to_strides[d];
    if (dim < run_dim) runs *= extent[dim];
  }
  const auto* const read = static_cast<const std::byte*>(source) + from_start;
  auto* const write = static_cast<std::byte*>(target) + to_start;
  parallel_ranges(threads, runs, std::max<std::int64_t>(1, run_bytes / 4), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t run = begin; run < end; ++run) {
      std::int64_t rest = run, from_at = 0, to_at = 0;
      for (int dim = run_dim - 1; dim >= 0; --dim) {
        const auto d = static_cast<std::size_t>(dim);
        from_at += rest % extent[dim] * from_strides[d];
        to_at += rest % extent[dim] * to_strides[d];
        rest /= extent[dim];
      }
      std::memcpy(write + to_at, read + from_at, static_cast<std::size_t>(run_bytes));
    }
  });
}

void copy_bytes(const void* source, void* target, std::int64_t bytes, int threads) {
  if (source == target) return;
  parallel_ranges(threads, bytes, 1, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<std::byte*>(target) + begin, static_cast<const std::byte*>(source) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

void fill(DType dtype, void* target, double value, std::int64_t count, int threads) {
  with_floating(dtype, [&]<class T>() {
    const T element = narrow<T>(static_cast<Accumulation<T>>(value));
    parallel_ranges(threads, count, 1, [&](std::int64_t begin, std::int64_t end) {
      std::fill(static_cast<T*>(target) + begin, static_cast<T*>(target) + end, element);
    });
  });
}

namespace {

/// target[i] = function(source[i], target[i]) in the target's accumulation type.
template <class From, class To, class Function>
void update(const void* source, void* target, std::int64_t count, int threads, const Function& function) {
  using A = Accumulation<To>;
  const From* const read = static_cast<const From*>(source);
  To* const write = static_cast<To*>(target);
  parallel_ranges(threads, count, 1, [&](std::int64_t begin, std::int64_t end) {
    Reader<From> reader;
    Reader<To> old_reader;
    Writer<To> writer;
    for (std::int64_t at = begin; at < end; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, end - at);
      const auto* const from = reader(read + at, n);
      const A* const old = old_reader(write + at, n);
      A* const to = writer(write + at);
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) to[i] = function(static_cast<A>(from[i]), old[i]);
      writer.flush(write + at, n);
    }
  });
}

template <class Function>
void update_any(DType from, const void* source, DType to, void* target, std::int64_t count, int threads,
                const Function& function) {
  with_floating(from, [&]<class From>() {
    with_floating(to, [&]<class To>() { update<From, To>(source, target, count, threads, function); });
  });
}

}  // namespace

void convert(DType from, const void* source, DType to, void* target, std::int64_t count, int threads) {
  if (from == to) return copy_bytes(source, target, count * size_of(to), threads);
  update_any(from, source, to, target, count, threads, [](auto x, auto) { return x; });
}

void accumulate(DType from, const void* source, DType to, void* target, std::int64_t count, int threads) {
  update_any(from, source, to, target, count, threads, [](auto x, auto old) { return old + x; });
}

void scale(DType dtype, void* target, double factor, std::int64_t count, int threads) {
  with_floating(dtype, [&]<class T>() {
    const auto by = static_cast<Accumulation<T>>(factor);
    map(
        threads, count, static_cast<T*>(target), [by](auto x) { return x * by; }, static_cast<const T*>(target));
  });
}

}  // namespace tessera::host
