// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled without fused multiply-adds, so that processors with and without them begin with the same weights.
#include "core/host/normal_numbers.hpp"

#include "core/host/math.hpp"
#include "core/host/parallel.hpp"

namespace tessera::host {
namespace {

/// What a normal number costs, in elements that are merely moved.
constexpr std::int64_t k_cost = 8;

/// The upper 53 bits as a number of [0, 1).
inline double uniform(std::uint64_t bits) {
  return static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-53;
}

}  // namespace

template <class T>
void fill_normal(const CounterRng& random, std::int64_t first, std::int64_t count, double deviation, T* data,
                 int threads) {
  parallel_ranges(threads, count, k_cost, [&](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const auto number = 2 * static_cast<std::uint64_t>(first + i);
      const double radius = std::sqrt(-2.0 * logarithm(1.0 - uniform(random.at(number))));
      const double angle = 6.283185307179586 * uniform(random.at(number + 1));
      data[i] = static_cast<T>(deviation * (radius * sine_cosine(angle).cosine));
    }
  });
}

template void fill_normal(const CounterRng&, std::int64_t, std::int64_t, double, double*, int);
template void fill_normal(const CounterRng&, std::int64_t, std::int64_t, double, float*, int);

}  // namespace tessera::host
