// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"

#include "core/base/error.hpp"
#include "test/support/schedule_checks.hpp"

namespace tessera {
namespace {

// The formula wants F = B alone; that the backward makes both gradients changes nothing.
TEST(OneFOneB, BubbleIsTheFormula) {
  for (const int p : {2, 4, 8})
    for (const int m : {1, 2, p - 1, p, p + 1, 3 * p, 32, 57})
      for (const TurnCosts& costs : {k_unit_costs, k_joint_costs}) {
        const PipelineShape shape{p, 1, m};
        expect_share(bubble_of(OneFOneB(), shape, costs), p - 1, m + p - 1, shape);
      }
}

// "Below 5 % needs m ≥ 19 (p − 1)": exactly 5 % there.
TEST(OneFOneB, FivePercentAtNineteenTimes) {
  expect_share(bubble_of(OneFOneB(), {4, 1, 57}, k_joint_costs), 1, 20, {4, 1, 57});
}

TEST(OneFOneB, KeepsAsManyFramesAsStagesBehind) {
  for (const int p : {1, 2, 4, 8})
    for (const int m : {1, 2, 3, 5, 8, 20}) {
      std::vector<int> expected;
      for (int stage = 0; stage < p; ++stage) expected.push_back(std::min(m, p - stage));
      EXPECT_EQ(peaks_of(OneFOneB(), {p, 1, m}), expected) << p << " stages, " << m << " micro-batches";
    }
}

TEST(OneFOneB, RefusesSeveralChunks) {
  try {
    OneFOneB().turns({4, 2, 8});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(), testing::HasSubstr("parallel.chunks = 2"));
    EXPECT_THAT(error.hint(), testing::HasSubstr("interleaved"));
  }
  EXPECT_THROW(OneFOneB().placement(4, 2), Error);
}

TEST(OneFOneB, RunsForEveryShape) {
  expect_runs_for_random_shapes(OneFOneB(), 1);
}

}  // namespace
}  // namespace tessera
