// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  GPipe (Huang et al. 2019): all micro-batches forward, then all backward.
// Used: the module's entry, tests.
// Must not know: the other schedules.
#pragma once

#include "core/scheduler/schedule.hpp"

namespace tessera {

/// Chunk c is on stage c mod stages. With F = B the bubble is (p − 1) ÷ (m + p − 1) of the step; m · v frames live.
class GPipe final : public Schedule {
 public:
  std::vector<int> placement(int stages, int chunks) const override;
  std::vector<std::vector<Turn>> turns(const PipelineShape& shape) const override;
};

}  // namespace tessera
