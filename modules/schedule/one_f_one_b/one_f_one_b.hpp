// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  1F1B (PipeDream-Flush; Narayanan et al. 2021): backwards begin as soon as they can, so frames are few.
// Used: the module's entry, tests.
// Must not know: the other schedules.
#pragma once

#include "core/scheduler/schedule.hpp"

namespace tessera {

/// One chunk per stage; others are refused. The bubble is GPipe's, stage s keeps min(m, p − s) frames.
class OneFOneB final : public Schedule {
 public:
  std::vector<int> placement(int stages, int chunks) const override;
  std::vector<std::vector<Turn>> turns(const PipelineShape& shape) const override;
};

}  // namespace tessera
