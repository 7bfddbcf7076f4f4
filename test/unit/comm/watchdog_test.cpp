// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/watchdog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "core/base/error.hpp"
#include "core/comm/thread_communicator.hpp"
#include "core/device/immediate_stream.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;

// Longer than a busy machine keeps a thread from running.
constexpr milliseconds k_limit{500};

/// Thread ranks, each with a recorder and a watchdog; reports of all are collected.
class Watched {
 public:
  explicit Watched(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      logs_.push_back(std::make_unique<FlightLog>());
    }
  }

  void run(const std::function<void(Communicator&)>& body) {
    run_ranks(static_cast<int>(logs_.size()), [&](Communicator& world) {
      FlightLog& own = *logs_[static_cast<std::size_t>(world.rank())];
      FlightRecorder recorder(own, world.rank());
      world.set_recorder(&recorder, "world");
      WatchdogOptions options{k_limit, &own, {}, nullptr};
      for (const auto& log : logs_) {
        options.logs.push_back(log.get());
      }
      const Watchdog watchdog(options, [this](const StallReport& report) {
        const std::lock_guard lock(mutex_);
        reports_.push_back(report);
      });
      body(world);
      world.set_recorder(nullptr, "");
    });
  }

  const std::vector<StallReport>& reports() const { return reports_; }

 private:
  std::vector<std::unique_ptr<FlightLog>> logs_;
  std::mutex mutex_;
  std::vector<StallReport> reports_;
};

void all_reduce(Communicator& world) {
  ImmediateStream stream;
  std::vector<float> values(33, 1.0F);
  world.all_reduce({values.data(), 33, DType::f32}, ReduceOp::sum, {stream, {}}).wait();
}

TEST(Watchdog, NamesTheRankThatSleepsAndItsLastCall) {
  Watched watched(3);
  watched.run([](Communicator& world) {
    all_reduce(world);
    world.barrier();
    if (world.rank() == 1) {
      std::this_thread::sleep_for(3 * k_limit);
    }
    all_reduce(world);
  });
  ASSERT_FALSE(watched.reports().empty());
  for (const StallReport& report : watched.reports()) {
    EXPECT_NE(report.waiting_rank, 1);
    EXPECT_GE(report.seconds, 0.5);
    EXPECT_EQ(report.call.kind, CallKind::all_reduce);
    EXPECT_EQ(report.call.sequence, 3U);
    EXPECT_EQ(report.call.count, 33);
    EXPECT_THAT(report.silent_ranks, testing::ElementsAre(1));
    EXPECT_THAT(report.text, testing::HasSubstr("all_reduce sum of 33 f32, call 3 on world"));
    EXPECT_THAT(report.text, testing::HasSubstr("Silent is rank 1: last call barrier, call 2 on world"));
  }
}

TEST(Watchdog, IsQuietWhileCallsAreServed) {
  Watched watched(2);
  watched.run([](Communicator& world) {
    const auto end = std::chrono::steady_clock::now() + 3 * k_limit;
    bool more = true;
    while (more) {
      all_reduce(world);
      more = world.agree(std::chrono::steady_clock::now() < end);
    }
  });
  EXPECT_TRUE(watched.reports().empty()) << watched.reports().front().text;
}

TEST(Watchdog, SaysHowLongItsProcessDidNotRun) {
  const pid_t child = fork();
  if (child == 0) {  // stops, and is woken by its parent
    FlightLog log{};
    std::atomic<std::int64_t> away{0};
    WatchdogOptions options{k_limit, &log, {&log}, [&](std::chrono::nanoseconds time) {
                              away = std::max<std::int64_t>(away, time.count());
                            }};
    const Watchdog watchdog(options, [](const StallReport&) {});
    std::this_thread::sleep_for(k_limit);  // for its thread to begin
    raise(SIGSTOP);
    std::this_thread::sleep_for(k_limit);
    _exit(away > 500'000'000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(milliseconds(700));
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Watchdog, DoesNotCountTimeInWhichTheProcessDidNotRun) {
  const pid_t child = fork();
  if (child == 0) {  // waits, is stopped for longer than the limit, and woken
    FlightLog log{};
    FlightRecorder recorder(log, 0);
    const int members[] = {0, 1};
    CallRecord call;
    call.kind = CallKind::barrier;
    call.channel = recorder.add_channel("world", members);
    call.sequence = 1;
    std::atomic<int> reports{0};
    const Watchdog watchdog({k_limit, &log, {&log}, nullptr}, [&](const StallReport&) { ++reports; });
    std::this_thread::sleep_for(k_limit / 2);  // for its thread to begin
    recorder.begin_wait(recorder.begin(call));
    raise(SIGSTOP);
    std::this_thread::sleep_for(k_limit / 2);
    if (reports > 0) _exit(1);
    std::this_thread::sleep_for(2 * k_limit);
    _exit(reports > 0 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(2 * k_limit);
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: reported too early, 2: never";
}

TEST(Watchdog, NeedsALimit) {
  FlightLog log{};
  EXPECT_THROW(Watchdog({milliseconds(0), &log, {&log}, nullptr}, [](const StallReport&) {}), Error);
}

}  // namespace
}  // namespace tessera
