// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/schedule/interleaved/interleaved.hpp"

#include "test/support/schedule_checks.hpp"

namespace tessera {
namespace {

int formula_frames(const PipelineShape& shape, int stage) {
  return std::min(shape.chunks * shape.micro_batches,
                  2 * (shape.stages - stage - 1) + (shape.chunks - 1) * shape.stages + 1);
}

// For m a multiple of p. The formula wants F = B alone; that the backward makes both gradients changes nothing.
TEST(Interleaved, BubbleIsTheFormula) {
  for (const int p : {2, 4, 8})
    for (const int v : {1, 2, 4})
      for (const int m : {p, 2 * p, 3 * p, 8 * p})
        for (const TurnCosts& costs : {k_unit_costs, k_joint_costs}) {
          const PipelineShape shape{p, v, m};
          expect_share(bubble_of(Interleaved(), shape, costs), p - 1, v * m + p - 1, shape);
        }
}

// A last group of fewer than p micro-batches costs at most as much as a full one.
TEST(Interleaved, OtherNumbersCostAtMostOneMoreGroup) {
  for (const int p : {2, 3, 4, 5, 8})
    for (const int v : {1, 2, 3, 4})
      for (int m = 1; m <= 4 * p; ++m)
        EXPECT_LE(bubble_of(Interleaved(), {p, v, m}, k_joint_costs).step, 3 * (v * ((m + p - 1) / p) * p + p - 1))
            << p << " stages, " << v << " chunks, " << m << " micro-batches";
}

TEST(Interleaved, PeakFramesAreTheFormula) {
  for (const int p : {2, 4, 8})
    for (const int v : {2, 3, 4})
      for (int m = 1; m <= 4 * p; ++m) {
        const PipelineShape shape{p, v, m};
        const std::vector<int> peaks = peaks_of(Interleaved(), shape);
        for (int stage = 0; stage < p; ++stage) {
          const int peak = peaks[static_cast<std::size_t>(stage)], formula = formula_frames(shape, stage);
          EXPECT_TRUE(peak == formula || (m % p != 0 && peak < formula))
              << p << " stages, " << v << " chunks, " << m << " micro-batches: " << peak << " on stage " << stage;
        }
      }
}

TEST(Interleaved, OneChunkIsOneForwardOneBackward) {
  for (const int p : {1, 2, 4, 8})
    for (const int m : {1, 3, 8, 13})
      for (int stage = 0; stage < p; ++stage) {
        std::vector<Turn> expected;
        int forward = 0;
        for (int backward = 0; backward < m; ++backward) {
          while (forward < std::min(m, backward + p - stage)) expected.push_back({Pass::forward, stage, forward++});
          expected.push_back({Pass::backward, stage, backward});
        }
        EXPECT_EQ(Interleaved().turns({p, 1, m})[static_cast<std::size_t>(stage)], expected)
            << "stage " << stage << " of " << p << ", " << m << " micro-batches";
      }
}

TEST(Interleaved, RunsForEveryShape) {
  expect_runs_for_random_shapes(Interleaved(), 5);
}

}  // namespace
}  // namespace tessera
