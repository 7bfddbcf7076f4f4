// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/flight_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "core/base/error.hpp"
#include "core/comm/thread_communicator.hpp"
#include "core/device/immediate_stream.hpp"

namespace tessera {
namespace {

CallRecord some_call(std::uint64_t sequence) {
  CallRecord call;
  call.sequence = sequence;
  call.kind = CallKind::all_reduce;
  call.op = ReduceOp::max;
  call.dtype = DType::bf16;
  call.count = std::int64_t{1} << 40;
  call.peer = 3;
  return call;
}

TEST(FlightRecorder, KeepsWhatIsBegunAndEnded) {
  const auto log = std::make_unique<FlightLog>();
  FlightRecorder recorder(*log, 5);
  EXPECT_EQ(log->world_rank(), 5);
  EXPECT_FALSE(log->last().has_value());
  EXPECT_EQ(describe_last(*log), "rank 5 has made no call");
  const int members[] = {5, 3};
  recorder.add_channel("dp", members);
  CallRecord call = some_call(17);
  call.channel = recorder.add_channel("tp", members);
  const std::uint64_t index = recorder.begin(call);
  const auto begun = log->last();
  ASSERT_TRUE(begun.has_value());
  EXPECT_EQ(begun->sequence, 17U);
  EXPECT_EQ(begun->kind, CallKind::all_reduce);
  EXPECT_EQ(begun->op, ReduceOp::max);
  EXPECT_EQ(begun->dtype, DType::bf16);
  EXPECT_EQ(begun->count, std::int64_t{1} << 40);
  EXPECT_EQ(begun->channel, 1);
  EXPECT_EQ(begun->peer, 3);
  EXPECT_GT(begun->started, 0);
  EXPECT_EQ(begun->finished, 0);
  EXPECT_EQ(log->channel(1).collectives, 17U);
  EXPECT_EQ(log->channel(0).collectives, 0U);
  EXPECT_THAT(describe_last(*log), testing::HasSubstr("all_reduce max of 1099511627776 bf16 by rank 3, call 17 on tp"));
  EXPECT_THAT(describe_last(*log), testing::HasSubstr("not finished"));
  recorder.end(index);
  EXPECT_GE(log->last()->finished, begun->started);
}

TEST(FlightRecorder, ForgetsTheOldest) {
  const auto log = std::make_unique<FlightLog>();
  FlightRecorder recorder(*log, 0);
  const int members[] = {0};
  recorder.add_channel("world", members);
  for (std::uint64_t call = 0; call < FlightLog::k_records + 10; ++call) {
    recorder.begin(some_call(call + 1));
  }
  EXPECT_EQ(log->calls(), FlightLog::k_records + 10);
  EXPECT_FALSE(log->call(9).has_value());
  ASSERT_TRUE(log->call(10).has_value());
  EXPECT_EQ(log->call(10)->sequence, 11U);
  recorder.end(9);  // its place now holds a newer call, which must stay unfinished
  EXPECT_EQ(log->last()->finished, 0);
}

TEST(FlightRecorder, RefusesTooManyChannels) {
  const auto log = std::make_unique<FlightLog>();
  FlightRecorder recorder(*log, 0);
  const int members[] = {0};
  for (int channel = 0; channel < FlightLog::k_channels; ++channel) {
    recorder.add_channel(std::string(100, 'x'), members);
  }
  EXPECT_EQ(log->channel(0).name.size(), FlightLog::k_name_bytes - 1);
  EXPECT_THROW(recorder.add_channel("one more", members), Error);
}

TEST(FlightRecorder, MayBeReadWhileItIsWritten) {
  const auto log = std::make_unique<FlightLog>();
  FlightRecorder recorder(*log, 0);
  const int members[] = {0};
  recorder.add_channel("world", members);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> seen{0};
  std::thread reader([&] {
    while (!stop.load()) {
      if (const auto call = log->last()) {
        // All fields of one record belong together.
        ASSERT_EQ(call->count, static_cast<std::int64_t>(call->sequence) * 3);
        ASSERT_EQ(call->peer, static_cast<int>(call->sequence % 1000));
        ++seen;
      }
    }
  });
  for (std::uint64_t sequence = 1; sequence <= 200000; ++sequence) {
    CallRecord call = some_call(sequence);
    call.count = static_cast<std::int64_t>(sequence) * 3;
    call.peer = static_cast<int>(sequence % 1000);
    recorder.end(recorder.begin(call));
  }
  while (seen == 0) {
    std::this_thread::yield();
  }
  stop = true;
  reader.join();
}

TEST(FlightRecorder, CommunicatorsRecordTheirCalls) {
  std::vector<std::unique_ptr<FlightLog>> logs;
  for (int rank = 0; rank < 2; ++rank) {
    logs.push_back(std::make_unique<FlightLog>());
  }
  run_ranks(2, [&](Communicator& world) {
    FlightRecorder recorder(*logs[static_cast<std::size_t>(world.rank())], world.rank());
    world.set_recorder(&recorder, "world");
    ImmediateStream stream;
    const auto pair = world.split(4, -world.rank());
    std::vector<float> values(10);
    const View view{values.data(), 10, DType::f32};
    world.all_reduce(view, ReduceOp::sum, {stream, {}}).wait();
    if (world.rank() == 0) {
      pair->send(view, 0, {stream, {}}).wait();
    } else {
      pair->receive(view, 1, {stream, {}}).wait();
    }
  });
  EXPECT_EQ(logs[0]->calls(), 3U);
  EXPECT_EQ(logs[0]->call(0)->kind, CallKind::split);
  EXPECT_EQ(logs[0]->call(1)->kind, CallKind::all_reduce);
  EXPECT_EQ(logs[0]->call(1)->sequence, 2U);
  EXPECT_GT(logs[0]->call(1)->finished, 0);
  EXPECT_EQ(describe(*logs[0]->call(2), *logs[0]), "send of 10 f32 to rank 1, call 1 on world.4");
  EXPECT_EQ(describe(*logs[1]->call(2), *logs[1]), "receive of 10 f32 from rank 0, call 1 on world.4");
  EXPECT_EQ(logs[0]->channel(1).id, logs[1]->channel(1).id);
  EXPECT_NE(logs[0]->channel(0).id, logs[0]->channel(1).id);
  EXPECT_FALSE(logs[0]->waiting().has_value());
}

}  // namespace
}  // namespace tessera
