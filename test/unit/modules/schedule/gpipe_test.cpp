// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/schedule/gpipe/gpipe.hpp"

#include "test/support/schedule_checks.hpp"

namespace tessera {
namespace {

// The formula wants F = B alone; that the backward makes both gradients changes nothing.
TEST(GPipe, BubbleIsTheFormula) {
  for (const int p : {2, 4, 8})
    for (const int m : {1, 2, p - 1, p, p + 1, 3 * p, 32})
      for (const TurnCosts& costs : {k_unit_costs, k_joint_costs}) {
        const PipelineShape shape{p, 1, m};
        expect_share(bubble_of(GPipe(), shape, costs), p - 1, m + p - 1, shape);
      }
}

TEST(GPipe, KeepsEveryMicroBatch) {
  EXPECT_EQ(peaks_of(GPipe(), {4, 1, 6}), (std::vector<int>{6, 6, 6, 6}));
  EXPECT_EQ(peaks_of(GPipe(), {2, 3, 5}), (std::vector<int>{15, 15}));
}

TEST(GPipe, RunsForEveryShape) {
  expect_runs_for_random_shapes(GPipe(), 4);
}

}  // namespace
}  // namespace tessera
