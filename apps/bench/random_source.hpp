// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  samples of random tokens, for steps whose speed matters and whose loss does not.
// Used: benchmarks.
// Must not know: models, datasets.
#pragma once

#include "core/train/batch_source.hpp"

namespace tessera::apps {

/// Token t of sample n is a function of (n, t); every target counts, every sample is one document.
class RandomSource final : public BatchSource {
 public:
  explicit RandomSource(std::int64_t vocabulary) : vocabulary_(vocabulary) {}

  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override;
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override;

 private:
  std::int32_t token(std::int64_t sample, std::int64_t place) const;

  std::int64_t vocabulary_;
};

}  // namespace tessera::apps
