// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// dropout (Srivastava et al. 2014). Whether an element is kept is a function of (seed, site, sample, its place in the
// sample), so that no layout, batch size or restart changes a mask.
#include <cmath>

#include "core/base/counter_rng.hpp"
#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// Keeps x[i] iff the number of element first + i is at least `least`, in units of 2^-53.
template <class T>
void drop_row(const CounterRng& rng, std::uint64_t first, std::uint64_t least, Accumulation<T> scale, const T* x, T* y,
              std::int64_t width) {
  using A = Accumulation<T>;
  Reader<T> reader;
  Writer<T> writer;
  for (std::int64_t at = 0; at < width; at += k_chunk) {
    const std::int64_t n = std::min(k_chunk, width - at);
    const A* const from = reader(x + at, n);
    A* const to = writer(y + at);
    const std::uint64_t element = first + static_cast<std::uint64_t>(at);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const bool kept = rng.at(element + static_cast<std::uint64_t>(i)) >> 11 >= least;
      to[i] = kept ? from[i] * scale : A(0);
    }
    writer.flush(y + at, n);
  }
}

template <class T>
void dropout(const KernelCall& call) {
  const auto site = call.attributes.as<attributes::Dropout>();
  const Tensor& x = call.in[0];
  const std::int64_t batch = x.shape[1], width = x.shape[2];
  const auto* const index = call.in[1].as<const std::int32_t>();
  const auto* const sample = call.in[2].as<const std::int64_t>();
  // uniform >= p, without rounding: both sides are whole multiples of 2^-53 after the ceiling.
  const auto least = static_cast<std::uint64_t>(std::ceil(std::ldexp(site.probability, 53)));
  const auto scale = static_cast<Accumulation<T>>(1 / (1 - site.probability));
  parallel_ranges(threads_of(call.stream), x.shape[0] * batch, 4 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const CounterRng rng(call.step.seed, site.site, static_cast<std::uint64_t>(sample[token % batch]));
      const auto first = static_cast<std::uint64_t>(index[token] * site.width + x.start[2]);
      drop_row(rng, first, least, scale, x.as<const T>() + token * width, call.out[0].as<T>() + token * width, width);
    }
  });
}

constexpr auto k_entries = for_floating([]<class T>() { return KernelEntry{"dropout", dtype_of<T>, dropout<T>}; });

}  // namespace

std::span<const KernelEntry> dropout_kernels() {
  return k_entries;
}

}  // namespace tessera::host
