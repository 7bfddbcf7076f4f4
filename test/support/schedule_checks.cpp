// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/schedule_checks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

namespace tessera {
namespace {

std::string describe(const PipelineShape& shape) {
  std::ostringstream text;
  text << shape.stages << " stages, " << shape.chunks << " chunks each, " << shape.micro_batches << " micro-batches";
  return text.str();
}

}  // namespace

Bubble bubble_of(const Schedule& schedule, const PipelineShape& shape, const TurnCosts& costs) {
  const std::int64_t step =
      run_schedule(schedule.turns(shape), schedule.placement(shape.stages, shape.chunks), costs).end;
  const std::int64_t turn = costs.forward + costs.backward + (schedule.splits_backward() ? costs.weight : 0);
  return {step - turn * shape.chunks * shape.micro_batches, step};
}

void expect_share(const Bubble& bubble, std::int64_t numerator, std::int64_t denominator, const PipelineShape& shape) {
  EXPECT_EQ(bubble.idle * denominator, numerator * bubble.step)
      << describe(shape) << ": " << bubble.idle << " of " << bubble.step << " units idle";
}

std::vector<int> peaks_of(const Schedule& schedule, const PipelineShape& shape) {
  return peak_frames(schedule.turns(shape));
}

void expect_runs_for_random_shapes(const Schedule& schedule, int chunks) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto draw = [&](int high) { return std::uniform_int_distribution<int>(1, high)(random); };
  for (int i = 0; i < 300; ++i) {
    const PipelineShape shape{draw(12), draw(chunks), draw(40)};
    SCOPED_TRACE(describe(shape));
    const std::vector<int> placement = schedule.placement(shape.stages, shape.chunks);
    const std::vector<std::vector<Turn>> turns = schedule.turns(shape);
    ASSERT_EQ(placement.size(), static_cast<std::size_t>(shape.stages * shape.chunks));
    for (std::size_t chunk = 1; shape.stages > 1 && chunk < placement.size(); ++chunk)
      ASSERT_NE(placement[chunk - 1], placement[chunk]);
    std::size_t count = 0;
    for (const auto& list : turns) count += list.size();
    const int passes = schedule.splits_backward() ? 3 : 2;
    ASSERT_EQ(count, static_cast<std::size_t>(passes * shape.stages * shape.chunks * shape.micro_batches));
    ASSERT_NO_THROW(run_schedule(turns, placement, k_unit_costs));
  }
}

}  // namespace tessera
