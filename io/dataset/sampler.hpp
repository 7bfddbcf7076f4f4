// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the order of training samples as a pure function of (seed, how many were consumed).
// Used: batches, the trainer, resume.
// Must not know: files, layouts, batch sizes, the length of the run.
#pragma once

#include <cstdint>

namespace tessera::io {

enum class SampleOrder : std::uint8_t {
  shuffled,    ///< every epoch in its own random order
  sequential,  ///< every epoch as in the file
};

/// Samples [first, first + count) of a dataset.
struct SampleRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Samples that `tokens` tokens give: n = floor((tokens - 1) / sequence). Sample i is tokens i*S ... i*S + S: S inputs
/// and, one further, S targets, so each token is predicted at most once per epoch and only a tail is left over.
std::int64_t samples_in(std::int64_t tokens, std::int64_t sequence);

struct Split {
  SampleRange train;
  SampleRange valid;
};

/// Keeps the last floor(fraction * n) samples for validation (a fraction that is a whole number of samples up to
/// rounding counts as that). Throws Error{configuration} for a fraction outside [0, 1) and Error{data} when nothing is
/// left to train on.
Split split_samples(std::int64_t samples, double fraction);

/// Which sample is consumed as number g: pi(seed, g div n)(g mod n) of epoch g div n. Runs on without end.
class Sampler {
 public:
  /// Throws Error{data} when the range is empty.
  Sampler(SampleRange range, std::uint64_t seed, SampleOrder order);

  std::int64_t samples_per_epoch() const { return range_.count; }

  /// Index in the dataset of the sample consumed as number `consumed` (from 0).
  std::int64_t sample(std::int64_t consumed) const;

  /// Stands for the samples consumed as numbers [consumed, consumed + count), in their order: what a step saw, equal on
  /// all layouts.
  std::uint64_t digest(std::int64_t consumed, std::int64_t count) const;

 private:
  SampleRange range_;
  std::uint64_t seed_;
  SampleOrder order_;
};

}  // namespace tessera::io
