// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/model/initial.hpp"

#include <algorithm>

#include "core/base/counter_rng.hpp"
#include "core/host/normal_numbers.hpp"

namespace tessera {
namespace {

template <class T>
void fill(const Parameter& parameter, const Shape& global, const Slab& slab, std::uint64_t seed, T* data, int threads) {
  const CounterRng random(seed, hash_name("init/" + parameter.field), static_cast<std::uint64_t>(parameter.layer + 1));
  for_each_run(global, slab, [&](std::int64_t local, std::int64_t first, std::int64_t length) {
    if (parameter.initial == Initial::normal)
      host::fill_normal(random, first, length, parameter.deviation, data + local, threads);
    else
      std::fill_n(data + local, length, parameter.initial == Initial::ones ? T(1) : T(0));
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
