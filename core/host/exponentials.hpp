// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what every softmax needs of a row: its largest element, and the exponentials below it.
// Used: kernels of the host.
// Must not know: what the row is.
#pragma once

#include <limits>

#include "core/host/math.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {

/// The largest of `width` elements, −inf if there are none.
template <class T>
Accumulation<T> largest_of(const T* x, std::int64_t width) {
  using A = Accumulation<T>;
  Reader<T> reader;
  A largest = -std::numeric_limits<A>::infinity();
  for (std::int64_t at = 0; at < width; at += k_chunk) {
    const std::int64_t n = std::min(k_chunk, width - at);
    const A* const values = reader(x + at, n);
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < n; ++i) largest = values[i] > largest ? values[i] : largest;
  }
  return largest;
}

/// e = exp(x − shift), stored as S; returns the sum of e before it is rounded to storage. e may be x, or null.
template <class T, class S>
Accumulation<T> exponentials(const T* x, std::int64_t width, Accumulation<T> shift, S* e) {
  using A = Accumulation<T>;
  Reader<T> reader;
  Writer<S> writer;
  A sum = 0;
  for (std::int64_t at = 0; at < width; at += k_chunk) {
    const std::int64_t n = std::min(k_chunk, width - at);
    const A* const from = reader(x + at, n);
    A* const to = writer(offset(e, at));
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) to[i] = exponential(from[i] - shift);
    sum += sum_over<A>(
        n, [](auto v) { return v; }, static_cast<const A*>(to));
    writer.flush(offset(e, at), n);
  }
  return sum;
}

}  // namespace tessera::host
