// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/random_source.hpp"

#include "core/base/counter_rng.hpp"

namespace tessera::apps {

std::int32_t RandomSource::token(std::int64_t sample, std::int64_t place) const {
  constexpr CounterRng numbers(1, hash_name("bench.tokens"));
  const std::uint64_t number =
      numbers.at(static_cast<std::uint64_t>(sample) << 24U ^ static_cast<std::uint64_t>(place));
  return static_cast<std::int32_t>(number % static_cast<std::uint64_t>(vocabulary_));
}

void RandomSource::fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) {
  const std::int64_t rows = view.tokens.extent[0], columns = view.tokens.extent[1];
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t sample = first_sample + view.tokens.start[1] + c;
    const bool counts = view.tokens.start[1] + c < samples;
    if (view.sample != nullptr) view.sample[c] = sample;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = r * columns + c, place = view.tokens.start[0] + r;
      if (view.ids != nullptr) view.ids[at] = token(sample, place);
      if (view.target != nullptr) view.target[at] = token(sample, place + 1);
      if (view.position != nullptr) view.position[at] = static_cast<std::int32_t>(place);
      if (view.index != nullptr) view.index[at] = static_cast<std::int32_t>(place);
      if (view.document != nullptr) view.document[at] = 0;
      if (view.mask == nullptr) continue;
      if (view.mask_dtype == DType::f64)
        static_cast<double*>(view.mask)[at] = counts ? 1 : 0;
      else
        static_cast<float*>(view.mask)[at] = counts ? 1 : 0;
    }
  }
}

std::uint64_t RandomSource::digest(std::int64_t first_sample, std::int64_t samples) const {
  return mix(static_cast<std::uint64_t>(first_sample)) ^ static_cast<std::uint64_t>(samples);
}

}  // namespace tessera::apps
