// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  running a schedule without a model: when each turn starts, how long the step takes, what is alive meanwhile.
// Used: the scheduler (slots that order communication), the simulator, tests of bubbles.
// Must not know: which schedule, programs, machines.
#pragma once

#include <array>
#include <vector>

#include "core/scheduler/schedule.hpp"

namespace tessera {

/// How long each pass of a chunk takes, and a message from stage to stage, in one unit.
struct TurnCosts {
  std::int64_t forward = 1, backward = 1, weight = 1, message = 0;
};

/// Start of every turn, as in the schedule's list, and the end of the last one.
struct ScheduleRun {
  std::vector<std::vector<std::int64_t>> starts;  ///< [stage][turn]
  std::int64_t end = 0;
};

/// Each stage makes its turns in order, each as early as what it needs is there: a forward needs the forward of the
/// chunk before, a backward its own forward and the backward of the chunk behind, a weight pass its backward. Checks
/// that every pass stands once (an evaluation has forward turns alone), on its chunk's stage, micro-batches in order.
/// Throws Error{internal} that names the turn where the schedule breaks these rules or can never go on.
ScheduleRun run_schedule(const std::vector<std::vector<Turn>>& turns, const std::vector<int>& placement,
                         const TurnCosts& costs);

/// The most frames alive at once on each stage: (chunk, micro-batch) pairs between their forward and their last pass.
std::vector<int> peak_frames(const std::vector<std::vector<Turn>>& turns);

}  // namespace tessera
