// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what tests of every schedule check: it runs to its end, and its step takes what a formula says.
// Used: tests of modules/schedule.
// Must not know: any schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "core/scheduler/schedule_run.hpp"

namespace tessera {

/// Forward and backward of one unit each, and weight passes where there are any.
inline constexpr TurnCosts k_unit_costs{};
/// The same for a schedule that does not split the backward: it makes both gradients.
inline constexpr TurnCosts k_joint_costs{.forward = 1, .backward = 2, .weight = 0};

/// What a stage idles of a step, in units; every stage works equally long.
struct Bubble {
  std::int64_t idle = 0, step = 0;
};

Bubble bubble_of(const Schedule& schedule, const PipelineShape& shape, const TurnCosts& costs);

/// bubble = numerator ÷ denominator, in integers.
void expect_share(const Bubble& bubble, std::int64_t numerator, std::int64_t denominator, const PipelineShape& shape);

std::vector<int> peaks_of(const Schedule& schedule, const PipelineShape& shape);

/// Random shapes, with 1 to `chunks` chunks per stage: all turns are there, in an order that runs to its end, and
/// neighbouring chunks are on different stages. Prints its seed.
void expect_runs_for_random_shapes(const Schedule& schedule, int chunks);

}  // namespace tessera
