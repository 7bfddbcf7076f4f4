// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/stall_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>

namespace tessera {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Logs of some ranks, written by hand. All are members of "world"; ranks 0 and 1 also of "pair".
class StallReports : public testing::Test {
 protected:
  static constexpr int k_ranks = 3;

  StallReports() {
    const int all[] = {0, 1, 2};
    const int two[] = {0, 1};
    for (int rank = 0; rank < k_ranks; ++rank) {
      logs_.push_back(std::make_unique<FlightLog>());
      recorders_.push_back(std::make_unique<FlightRecorder>(*logs_.back(), rank));
      recorders_.back()->add_channel("world", all);
      if (rank < 2) {
        recorders_.back()->add_channel("pair", two);
      }
      readable_.push_back(logs_.back().get());
    }
  }

  std::uint64_t begin(int rank, CallKind kind, std::uint64_t sequence, std::uint16_t channel = 0, int peer = -1) {
    CallRecord call;
    call.kind = kind;
    call.sequence = sequence;
    call.channel = channel;
    call.peer = peer;
    call.dtype = DType::f32;
    call.count = 8;
    return recorder(rank).begin(call);
  }
  void wait_in(int rank, CallKind kind, std::uint64_t sequence, std::uint16_t channel = 0, int peer = -1) {
    recorder(rank).begin_wait(begin(rank, kind, sequence, channel, peer));
  }
  FlightRecorder& recorder(int rank) { return *recorders_[static_cast<std::size_t>(rank)]; }
  FlightLog& log(int rank) { return *logs_[static_cast<std::size_t>(rank)]; }

  StallReport explain(int rank) { return explain_stall(readable_, log(rank), milliseconds(20)); }

  std::vector<std::unique_ptr<FlightLog>> logs_;
  std::vector<std::unique_ptr<FlightRecorder>> recorders_;
  std::vector<const FlightLog*> readable_;
};

TEST_F(StallReports, NothingWhenNobodyWaits) {
  EXPECT_EQ(explain(0).text, "");
}

TEST_F(StallReports, NamesTheRankThatHasNotComeAndItsLastCall) {
  recorder(2).end(begin(2, CallKind::broadcast, 4));
  wait_in(0, CallKind::all_reduce, 5);
  wait_in(1, CallKind::all_reduce, 5);
  const StallReport report = explain(0);
  EXPECT_EQ(report.waiting_rank, 0);
  EXPECT_EQ(report.channel, "world");
  EXPECT_EQ(report.call.sequence, 5U);
  EXPECT_THAT(report.silent_ranks, ElementsAre(2));
  EXPECT_THAT(report.text,
              HasSubstr("in all_reduce sum of 8 f32, call 5 on world. Silent is rank 2: last call broadcast "
                        "of 8 f32, call 4 on world"));
}

TEST_F(StallReports, FollowsTheChainToWhoDoesNotWait) {
  wait_in(2, CallKind::receive, 1, 0, 1);  // 2 waits for a message of 1
  wait_in(0, CallKind::all_reduce, 1);     // 0 waits for 1 and 2
  EXPECT_THAT(explain(0).silent_ranks, ElementsAre(1));
  EXPECT_THAT(explain(2).silent_ranks, ElementsAre(1));
}

TEST_F(StallReports, AMessageThatWasSentHoldsNobodyUp) {
  begin(1, CallKind::send, 1, 0, 2);
  wait_in(1, CallKind::barrier, 7, 0);
  wait_in(2, CallKind::receive, 1, 0, 1);
  const StallReport report = explain(2);
  EXPECT_THAT(report.silent_ranks, IsEmpty());
  EXPECT_THAT(report.text, HasSubstr("wait too by now"));
}

TEST_F(StallReports, NamesRanksThatWaitForEachOther) {
  wait_in(0, CallKind::all_reduce, 1, 1);  // on "pair", where 1 does not come
  wait_in(1, CallKind::all_reduce, 1, 0);  // on "world", where 0 does not come
  wait_in(2, CallKind::all_reduce, 1, 0);
  EXPECT_THAT(explain(2).silent_ranks, ElementsAre(0, 1));
  EXPECT_THAT(explain(2).text, HasSubstr("it waits in all_reduce sum of 8 f32, call 1 on pair"));
}

// Not in minutes: each rank is followed once.
TEST(StallReport, ManyRanksThatWaitCrosswise) {
  constexpr int ranks = 32;
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  std::vector<FlightLog> logs(ranks);
  std::vector<std::unique_ptr<FlightRecorder>> recorders;
  std::vector<const FlightLog*> readable;
  for (int rank = 0; rank < ranks; ++rank) {
    FlightLog& log = logs[static_cast<std::size_t>(rank)];
    FlightRecorder& recorder = *recorders.emplace_back(std::make_unique<FlightRecorder>(log, rank));
    readable.push_back(&log);
    recorder.add_channel("rows", all);
    recorder.add_channel("columns", all);
    CallRecord call;
    call.kind = CallKind::all_reduce;
    call.sequence = 1;
    call.channel = static_cast<std::uint16_t>(rank % 2);
    recorder.begin_wait(recorder.begin(call));
  }
  const StallReport report = explain_stall(readable, logs[0], milliseconds(20));
  EXPECT_GE(report.silent_ranks.size(), 2U);
  EXPECT_THAT(report.text, HasSubstr("it waits in all_reduce"));
}

TEST_F(StallReports, NamesARankThatCameButDoesNotWait) {
  begin(1, CallKind::all_reduce, 1, 1);
  wait_in(0, CallKind::all_reduce, 1, 1);
  EXPECT_THAT(explain(0).silent_ranks, ElementsAre(1));
  EXPECT_THAT(explain(0).text, HasSubstr("not finished"));
}

TEST_F(StallReports, NamesAProcessWithoutSignOfLifeEvenIfItSeemsToWait) {
  for (int rank = 0; rank < k_ranks; ++rank) {
    log(rank).beat();
    wait_in(rank, CallKind::all_reduce, 1);
  }
  std::this_thread::sleep_for(milliseconds(40));
  log(0).beat();
  log(2).beat();
  const StallReport report = explain(0);
  EXPECT_THAT(report.silent_ranks, ElementsAre(1));
  EXPECT_THAT(report.text, HasSubstr("no sign of life"));
}

TEST_F(StallReports, SaysWhenOthersCannotBeRead) {
  wait_in(0, CallKind::all_reduce, 1);
  const FlightLog* const only_own[] = {&log(0)};
  const StallReport report = explain_stall(only_own, log(0), milliseconds(20));
  EXPECT_THAT(report.silent_ranks, IsEmpty());
  EXPECT_THAT(report.text, HasSubstr("2 cannot be read from this node"));
}

TEST_F(StallReports, GroupsOfOneNameAreToldApart) {
  const int others[] = {1, 2};
  const std::uint16_t other_pair = recorder(2).add_channel("pair", others);
  begin(2, CallKind::all_reduce, 9, other_pair);
  wait_in(0, CallKind::all_reduce, 1, 1);
  EXPECT_THAT(explain(0).silent_ranks, ElementsAre(1));
}

}  // namespace
}  // namespace tessera
