// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/schedule/zero_bubble/zero_bubble.hpp"

#include "core/base/error.hpp"
#include "test/support/schedule_checks.hpp"

namespace tessera {
namespace {

// F = B = W, m ≥ p.
TEST(ZeroBubble, BubbleIsTheFormula) {
  for (const int p : {2, 4, 8})
    for (const int m : {p, p + 1, 2 * p - 1, 3 * p, 32}) {
      const PipelineShape shape{p, 1, m};
      expect_share(bubble_of(ZeroBubble(), shape, k_unit_costs), p - 1, 3 * m + p - 1, shape);
    }
}

// With fewer micro-batches than stages a step is still no longer than with a joint backward.
TEST(ZeroBubble, FewMicroBatchesCostNoMoreThanAJointBackward) {
  for (const int p : {2, 4, 8})
    for (int m = 1; m < p; ++m) EXPECT_LE(bubble_of(ZeroBubble(), {p, 1, m}, k_unit_costs).step, 3 * (m + p - 1));
}

TEST(ZeroBubble, KeepsAsMuchAsOneForwardOneBackward) {
  for (const int p : {1, 2, 4, 8})
    for (const int m : {1, 2, 3, 5, 8, 20}) {
      std::vector<std::vector<Turn>> turns = ZeroBubble().turns({p, 1, m});
      EXPECT_EQ(peak_frames(turns), std::vector<int>(static_cast<std::size_t>(p), std::min(m, p)));
      for (auto& list : turns) std::erase_if(list, [](const Turn& turn) { return turn.pass == Pass::weight; });
      std::vector<int> expected;
      for (int stage = 0; stage < p; ++stage) expected.push_back(std::min(m, p - stage));
      EXPECT_EQ(peak_frames(turns), expected) << p << " stages, " << m << " micro-batches";
    }
}

TEST(ZeroBubble, RefusesSeveralChunks) {
  try {
    ZeroBubble().turns({4, 3, 8});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(), testing::HasSubstr("parallel.chunks = 3"));
  }
}

TEST(ZeroBubble, RunsForEveryShape) {
  expect_runs_for_random_shapes(ZeroBubble(), 1);
}

}  // namespace
}  // namespace tessera
