// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/model/initial.hpp"

#include "core/base/counter_rng.hpp"

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

template <class T>
void fill(const Parameter& parameter, const Shape& global, const Slab& slab, std::uint64_t seed, T* data) {
  const CounterRng random(seed, hash_name("init/" + parameter.field), static_cast<std::uint64_t>(parameter.layer + 1));
  const bool matrix = global.rank() == 2;
  const std::int64_t rows = matrix ? slab.extent[0] : 1;
  const std::int64_t columns = slab.extent[matrix ? 1 : 0];
  const std::int64_t first_row = matrix ? slab.start[0] : 0;
  const std::int64_t first_column = slab.start[matrix ? 1 : 0];
  const std::int64_t width = matrix ? global[1] : global[0];
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      data[row * columns + column] =
          static_cast<T>(initial_value(parameter, random, (first_row + row) * width + first_column + column));
}

}  // namespace

void fill_initial(const Parameter& parameter, const Shape& global, const Slab& slab, std::uint64_t seed, DType dtype,
                  void* data) {
  TESSERA_CHECK(global.rank() == 1 || global.rank() == 2, to_string(global));
  if (dtype == DType::f64)
    fill(parameter, global, slab, seed, static_cast<double*>(data));
  else
    fill(parameter, global, slab, seed, static_cast<float*>(data));
}

}  // namespace tessera
