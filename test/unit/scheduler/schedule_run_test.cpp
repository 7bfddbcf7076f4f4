// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/schedule_run.hpp"

#include "core/base/error.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

constexpr Turn forward(int chunk, int micro_batch) {
  return {Pass::forward, chunk, micro_batch};
}
constexpr Turn backward(int chunk, int micro_batch) {
  return {Pass::backward, chunk, micro_batch};
}
constexpr Turn weight(int chunk, int micro_batch) {
  return {Pass::weight, chunk, micro_batch};
}

std::string refusal_of(const std::vector<std::vector<Turn>>& turns, const std::vector<int>& placement) {
  try {
    run_schedule(turns, placement, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "accepted";
}

TEST(ScheduleRun, StartsEachTurnWhenItsInputsAreThere) {
  const ScheduleRun run = run_schedule({{forward(0, 0), forward(0, 1), backward(0, 0), backward(0, 1)},
                                        {forward(1, 0), backward(1, 0), forward(1, 1), backward(1, 1)}},
                                       {0, 1}, {.forward = 2, .backward = 3, .message = 1});
  EXPECT_EQ(run.starts[0], (std::vector<std::int64_t>{0, 2, 9, 14}));
  EXPECT_EQ(run.starts[1], (std::vector<std::int64_t>{3, 5, 8, 10}));
  EXPECT_EQ(run.end, 17);
}

TEST(ScheduleRun, MessagesTakeTimeBetweenStagesOnly) {
  const std::vector<std::vector<Turn>> one{{forward(0, 0), forward(1, 0), backward(1, 0), backward(0, 0)}};
  EXPECT_EQ(run_schedule(one, {0, 0}, {.message = 100}).end, 4);
}

TEST(ScheduleRun, WeightPassesFollowTheirBackward) {
  const ScheduleRun run = run_schedule({{forward(0, 0), backward(0, 0), weight(0, 0)}}, {0}, {.weight = 5});
  EXPECT_EQ(run.starts[0], (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(run.end, 7);
}

TEST(ScheduleRun, NamesTheTurnThatBreaksARule) {
  EXPECT_THAT(refusal_of({{forward(0, 0), backward(0, 0)}, {forward(0, 1)}}, {0}),
              HasSubstr("stage 1, turn 0 (forward of chunk 0, micro-batch 1): the chunk is on stage 0"));
  EXPECT_THAT(refusal_of({{forward(0, 1), forward(0, 0)}}, {0}), HasSubstr("micro-batch 0 is next"));
  EXPECT_THAT(refusal_of({{forward(3, 0)}}, {0}), HasSubstr("there is no such chunk"));
  EXPECT_THAT(refusal_of({{forward(0, 0), forward(0, 0), backward(0, 0)}}, {0}), HasSubstr("micro-batch 1 is next"));
  EXPECT_THAT(refusal_of({{forward(0, 0), forward(0, 1), backward(0, 0)}}, {0}),
              HasSubstr("chunk 0 has 1 backward turns, not 2"));
  EXPECT_THAT(refusal_of({{forward(0, 0), forward(0, 1), backward(0, 0), weight(0, 0), backward(0, 1)}}, {0}),
              HasSubstr("chunk 0 has 1 weight turns, not 2"));
}

TEST(ScheduleRun, NamesTheTurnThatWaitsForEver) {
  const std::vector<std::vector<Turn>> crossed{{forward(0, 0), backward(0, 0), forward(0, 1), backward(0, 1)},
                                               {forward(1, 0), forward(1, 1), backward(1, 0), backward(1, 1)}};
  EXPECT_THAT(refusal_of(crossed, {0, 1}),
              HasSubstr("stage 0, turn 1 (backward of chunk 0, micro-batch 0): what it needs never comes"));
}

TEST(PeakFrames, CountsFromForwardToTheLastPass) {
  EXPECT_EQ(peak_frames({{forward(0, 0), forward(0, 1), backward(0, 0), forward(0, 2), backward(0, 1), backward(0, 2)},
                         {forward(1, 0), backward(1, 0), forward(1, 1), backward(1, 1), weight(1, 0), weight(1, 1)}}),
            (std::vector<int>{2, 2}));
}

}  // namespace
}  // namespace tessera
