// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/model/initial.hpp"

#include "core/base/counter_rng.hpp"
#include "core/host/parallel.hpp"

namespace tessera {
namespace {

double initial_value(const Parameter& parameter, const CounterRng& random, std::int64_t element) {
  switch (parameter.initial) {
    case Initial::normal:
      return parameter.deviation * random.normal(static_cast<std::uint64_t>(element));
    case Initial::ones:
      return 1;
    case Initial::zeros:
      return 0;
  }
  return 0;
}

/// What a normal number costs, in elements that are merely moved.
constexpr std::int64_t k_cost = 32;

template <class T>
void fill(const Parameter& parameter, const Shape& global, const Slab& slab, std::uint64_t seed, T* data, int threads) {
  const CounterRng random(seed, hash_name("init/" + parameter.field), static_cast<std::uint64_t>(parameter.layer + 1));
  for_each_run(global, slab, [&](std::int64_t local, std::int64_t first, std::int64_t length) {
    host::parallel_ranges(threads, length, k_cost, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        data[local + i] = static_cast<T>(initial_value(parameter, random, first + i));
    });
  });
}

}  // namespace

void fill_initial(const Parameter& parameter, const Shape& global, const Slab& slab, std::uint64_t seed, DType dtype,
                  void* data, int threads) {
  if (dtype == DType::f64)
    fill(parameter, global, slab, seed, static_cast<double*>(data), threads);
  else
    fill(parameter, global, slab, seed, static_cast<float*>(data), threads);
}

}  // namespace tessera
