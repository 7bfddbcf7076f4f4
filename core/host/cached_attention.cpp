// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// cached_attention: one new token at a time reads the whole cache, so the loops follow memory and nothing is blocked.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/parallel.hpp"

namespace tessera::host {
namespace {

/// Extents of one call.
struct CacheShape {
  std::int64_t queries, batch, heads, kv_heads, dim, capacity, group;
};

template <class T>
void append(const T* rows, T* cache, std::int64_t position, const CacheShape& s) {
  std::copy_n(rows, s.queries * s.batch * s.kv_heads * s.dim, cache + position * s.batch * s.kv_heads * s.dim);
}

/// One query head over the first `visible` keys; `scores` has room for them.
template <class T>
void attend(const T* query, const T* keys, const T* values, std::int64_t stride, std::int64_t visible, double scale,
            std::int64_t dim, T* scores, T* out) {
  T largest = -std::numeric_limits<T>::infinity();
  for (std::int64_t t = 0; t < visible; ++t) {
    T dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::int64_t d = 0; d < dim; ++d) dot += query[d] * keys[t * stride + d];
    scores[t] = dot * static_cast<T>(scale);
    largest = std::max(largest, scores[t]);
  }
  T sum = 0;
  for (std::int64_t t = 0; t < visible; ++t) sum += scores[t] = std::exp(scores[t] - largest);
  std::fill_n(out, dim, T{0});
  for (std::int64_t t = 0; t < visible; ++t) {
    const T weight = scores[t] / sum;
#pragma omp simd
    for (std::int64_t d = 0; d < dim; ++d) out[d] += weight * values[t * stride + d];
  }
}

template <class T>
void cached_attention(const KernelCall& call) {
  const auto record = call.attributes.as<attributes::Attention>();
  const Shape &q = call.in[0].shape, &cache = call.in[3].shape;
  const CacheShape s{q[0], q[1], q[2], cache[2], q[3], cache[0], record.group};
  const std::int64_t position = call.step.position;
  T* const key_cache = call.in[3].as<T>();
  T* const value_cache = call.in[4].as<T>();
  append(call.in[1].as<const T>(), key_cache, position, s);
  append(call.in[2].as<const T>(), value_cache, position, s);
  const std::int64_t stride = s.batch * s.kv_heads * s.dim;
  T* const scores = reinterpret_cast<T*>(call.workspace.data());
  parallel_parts(threads_of(call.stream), s.batch * s.heads, [&](std::int64_t part, int thread) {
    const std::int64_t b = part / s.heads, n = part % s.heads;
    const std::int64_t kv = (b * s.kv_heads + n / s.group) * s.dim;
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const std::int64_t at = ((i * s.batch + b) * s.heads + n) * s.dim;
      attend(call.in[0].as<const T>() + at, key_cache + kv, value_cache + kv, stride, position + i + 1, record.scale, s.dim,
             scores + thread * s.capacity, call.out[0].as<T>() + at);
    }
  });
}

/// Scores of one head, for every thread.
std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int threads) {
  return in[3].shape[0] * size_of(in[3].dtype) * threads;
}

constexpr auto k_entries = for_accumulation([]<class T>() {
  return KernelEntry{"cached_attention", dtype_of<T>, cached_attention<T>, workspace};
});

}  // namespace

std::span<const KernelEntry> cached_attention_kernels() { return k_entries; }

}  // namespace tessera::host
