// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// jitter (Fedus et al. 2021). The factor of an element is a function of (seed, site, sample, its place in the sample),
// so that no layout, batch size or restart changes it.
#include "core/base/counter_rng.hpp"
#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// y[i] = x[i] · (1 + spread · (2u − 1)), u the number of element first + i.
template <class T>
void jitter_row(const CounterRng& rng, std::uint64_t first, double spread, const T* x, T* y, std::int64_t width) {
  using A = Accumulation<T>;
  Reader<T> reader;
  Writer<T> writer;
  for (std::int64_t at = 0; at < width; at += k_chunk) {
    const std::int64_t n = std::min(k_chunk, width - at);
    const A* const from = reader(x + at, n);
    A* const to = writer(y + at);
    const std::uint64_t element = first + static_cast<std::uint64_t>(at);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      to[i] = from[i] * static_cast<A>(1 + spread * (2 * rng.uniform(element + static_cast<std::uint64_t>(i)) - 1));
    writer.flush(y + at, n);
  }
}

template <class T>
void jitter(const KernelCall& call) {
  const auto site = call.attributes.as<attributes::Jitter>();
  const Tensor& x = call.in[0];
  const std::int64_t batch = x.shape[1], width = x.shape[2];
  const auto* const index = call.in[1].as<const std::int32_t>();
  const auto* const sample = call.in[2].as<const std::int64_t>();
  parallel_ranges(threads_of(call.stream), x.shape[0] * batch, 4 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const CounterRng rng(call.step.seed, site.site, static_cast<std::uint64_t>(sample[token % batch]));
      const auto first = static_cast<std::uint64_t>(index[token] * site.width + x.start[2]);
      jitter_row(rng, first, site.spread, x.as<const T>() + token * width, call.out[0].as<T>() + token * width, width);
    }
  });
}

constexpr auto k_entries = for_floating([]<class T>() { return KernelEntry{"jitter", dtype_of<T>, jitter<T>}; });

}  // namespace

std::span<const KernelEntry> jitter_kernels() {
  return k_entries;
}

}  // namespace tessera::host
