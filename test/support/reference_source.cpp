// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/reference_source.hpp"

#include "test/support/reference_formulas.hpp"

namespace tessera::reference {

void ReferenceSource::fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) {
  const std::int64_t rows = view.tokens.extent[0], columns = view.tokens.extent[1];
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t number = view.tokens.start[1] + c, sample = first_sample + number;
    const auto step = static_cast<int>(1 + sample / k_global_batch);
    const std::int64_t column = sample % k_global_batch;
    view.sample[c] = sample;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = r * columns + c, position = view.tokens.start[0] + r;
      view.ids[at] = token(step, column, position);
      view.target[at] = token(step, column, position + 1);
      view.position[at] = view.index[at] = static_cast<std::int32_t>(position);
      view.document[at] = 0;
      const bool counts = number < samples && target_counts(step, column, position);
      if (view.mask_dtype == DType::f64)
        static_cast<double*>(view.mask)[at] = counts;
      else
        static_cast<float*>(view.mask)[at] = counts;
    }
  }
}

std::uint64_t ReferenceSource::digest(std::int64_t first_sample, std::int64_t samples) const {
  return mix(static_cast<std::uint64_t>(first_sample) ^ mix(static_cast<std::uint64_t>(samples)));
}

}  // namespace tessera::reference
