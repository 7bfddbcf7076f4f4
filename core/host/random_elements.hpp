// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  kernels that change elements at random: an element's number follows from seed, site, sample and its place in the
//       sample, so no layout, batch size or restart changes it.
// Used: dropout, jitter.
// Must not know: what becomes of an element.
#pragma once

#include "core/base/counter_rng.hpp"
#include "core/host/host_device.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {

/// y[i] = change(x[i], rng, number of the element), of x [s, b, width] with index [s, b] and sample [b]; `width` is
/// that of a whole row of the site.
template <class T, class Change>
void change_elements(const KernelCall& call, std::uint64_t site, std::int64_t site_width, const Change& change) {
  using A = Accumulation<T>;
  const Tensor& x = call.in[0];
  const std::int64_t batch = x.shape[1], width = x.shape[2];
  const auto* const index = call.in[1].as<const std::int32_t>();
  const auto* const sample = call.in[2].as<const std::int64_t>();
  parallel_ranges(threads_of(call.stream), x.shape[0] * batch, 4 * width, [&](std::int64_t begin, std::int64_t end) {
    Reader<T> reader;
    Writer<T> writer;
    for (std::int64_t token = begin; token < end; ++token) {
      const CounterRng rng(call.step.seed, site, static_cast<std::uint64_t>(sample[token % batch]));
      const auto first = static_cast<std::uint64_t>(index[token] * site_width + x.start[2]);
      const T* const row = x.as<const T>() + token * width;
      T* const target = call.out[0].as<T>() + token * width;
      for (std::int64_t at = 0; at < width; at += k_chunk) {
        const std::int64_t n = std::min(k_chunk, width - at);
        const A* const from = reader(row + at, n);
        A* const to = writer(target + at);
        const std::uint64_t element = first + static_cast<std::uint64_t>(at);
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) to[i] = change(from[i], rng, element + static_cast<std::uint64_t>(i));
        writer.flush(target + at, n);
      }
    }
  });
}

}  // namespace tessera::host
