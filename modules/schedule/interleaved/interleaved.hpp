// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  1F1B over several chunks per stage (Narayanan et al. 2021), for any number of micro-batches.
// Used: the module's entry, tests.
// Must not know: the other schedules.
#pragma once

#include "core/scheduler/schedule.hpp"

namespace tessera {

/// Chunk c is on stage c mod p. Stage s keeps at most 2 (p − s − 1) + (v − 1) p + 1 frames of chunks, with one chunk
/// p − s. With F = B the bubble is (p − 1) ÷ (v · m + p − 1) for m a multiple of p; a last group of fewer than p
/// micro-batches adds idle time, but every m ≥ 1 works.
class Interleaved final : public Schedule {
 public:
  std::vector<int> placement(int stages, int chunks) const override;
  std::vector<std::vector<Turn>> turns(const PipelineShape& shape) const override;
};

}  // namespace tessera
