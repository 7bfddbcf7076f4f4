// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "core/base/error.hpp"
#include "core/comm/watchdog.hpp"
#include "core/device/immediate_stream.hpp"
#include "mpi/native.hpp"
#include "mpi/node_logs.hpp"
#include "mpi/world.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::mpi {
namespace {

const Environment& environment() {
  return test::mpi_environment();
}

TEST(Environment, KnowsTheLayoutOfOneNode) {
  const RankLayout& layout = environment().layout();
  EXPECT_EQ(layout.nodes, 1);
  EXPECT_EQ(layout.node, 0);
  EXPECT_EQ(layout.facts.local_rank, environment().rank());
  EXPECT_EQ(layout.facts.local_size, environment().size());
  EXPECT_EQ(layout.launcher, "Open MPI");
  EXPECT_EQ(layout.node_of_rank, std::vector<int>(static_cast<std::size_t>(environment().size()), 0));
  EXPECT_THAT(describe(layout), testing::StartsWith("node 0 (host " + layout.host + "): ranks 0 1"));
}

TEST(Environment, GetsTheThreadLevelThatItAsksFor) {
  EXPECT_EQ(environment().thread_level(), ThreadLevel::multiple);
}

TEST(Environment, MpiErrorsAreReturned) {
  int wrong = 0;
  try {
    check(MPI_Send(&wrong, 1, MPI_INT, environment().size() + 5, 0, MPI_COMM_WORLD), "MPI_Send");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_THAT(error.what(), testing::StartsWith("MPI_Send: MPI_ERR_RANK"));
  }
  MPI_File file = MPI_FILE_NULL;
  try {
    check(MPI_File_open(MPI_COMM_SELF, "/no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "MPI_File_open");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
  }
}

TEST(World, GivesItsHandleToFiles) {
  const auto world = make_world(environment());
  int result = MPI_UNEQUAL;
  ASSERT_EQ(MPI_Comm_compare(native_handle(*world), MPI_COMM_WORLD, &result), MPI_SUCCESS);
  EXPECT_EQ(result, MPI_CONGRUENT);
  EXPECT_THROW((void)make_world(environment(), {.piece_bytes = 0, .memory = nullptr}), Error);
}

bool fails(Work& work) {
  try {
    work.wait();
  } catch (const Error&) {
    return true;
  }
  return false;
}

// The error belongs to the call that failed, also when another wait came across it, and the others go on.
TEST(World, AMessageOfAnotherSizeIsAnError) {
  const auto world = make_world(environment());
  ImmediateStream stream;
  std::vector<float> values(8);
  if (world->rank() == 0) {
    world->send({values.data(), 4, DType::f32}, 1, {stream, {}}).wait();
    world->send({values.data(), 8, DType::f32}, 1, {stream, {}}).wait();
  } else if (world->rank() == 1) {
    EXPECT_THROW(world->receive({values.data(), 5, DType::f32}, 0, {stream, {}}).wait(), Error);
    Work work;
    bool thrown = false;
    try {  // by the call itself, when the message is already there, or by the wait
      work = world->receive({values.data(), 7, DType::f32}, 0, {stream, {}});
    } catch (const Error&) {
      thrown = true;
    }
    EXPECT_TRUE(world->agree(true));
    EXPECT_TRUE(thrown || fails(work));
  }
  if (world->rank() != 1) {
    EXPECT_TRUE(world->agree(true));
  }
  world->barrier();
}

TEST(World, ThreadsFollowTheVariable) {
  // mpirun.sh sets it to 1.
  EXPECT_EQ(choose_threads(environment()).threads, 1);
  unsetenv("OMP_NUM_THREADS");
  EXPECT_THAT(choose_threads(environment()).reason, testing::HasSubstr("shares them with"));
  setenv("OMP_NUM_THREADS", "1", 1);
}

TEST(NodeLogs, AreReadByAllRanksOfTheNode) {
  const auto world = make_world(environment());
  NodeLogs logs(environment());
  FlightRecorder recorder(logs.own(), world->rank());
  world->set_recorder(&recorder, "world");
  EXPECT_EQ(std::ssize(logs.all()), world->size());
  for (int call = 0; call <= world->rank(); ++call) {
    CallRecord record;
    record.sequence = static_cast<std::uint64_t>(100 * world->rank() + call);
    recorder.begin(record);
  }
  world->barrier();
  for (int rank = 0; rank < world->size(); ++rank) {
    const FlightLog& log = *logs.all()[static_cast<std::size_t>(rank)];
    EXPECT_EQ(log.world_rank(), rank);
    EXPECT_EQ(log.call(static_cast<std::uint64_t>(rank))->sequence, static_cast<std::uint64_t>(101 * rank));
    EXPECT_EQ(log.channel(0).name, "world");
  }
  world->barrier();
  world->set_recorder(nullptr, "");
}

TEST(NodeLogs, AWatchdogNamesASleepingRank) {
  const auto world = make_world(environment());
  NodeLogs logs(environment());
  FlightRecorder recorder(logs.own(), world->rank());
  world->set_recorder(&recorder, "world");
  std::vector<StallReport> reports;
  {
    const Watchdog watchdog({std::chrono::milliseconds(300), &logs.own(), logs.all()},
                            [&](const StallReport& report) { reports.push_back(report); });
    world->barrier();
    if (world->rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
    }
    world->barrier();
  }
  world->barrier();
  if (world->rank() == 1) {
    EXPECT_TRUE(reports.empty());
  } else {
    ASSERT_FALSE(reports.empty());
    EXPECT_THAT(reports.front().silent_ranks, testing::ElementsAre(1));
    EXPECT_EQ(reports.front().call.sequence, 2U);
    EXPECT_THAT(reports.front().text, testing::HasSubstr("Silent is rank 1: last call barrier, call 1 on world"));
  }
  world->set_recorder(nullptr, "");
}

}  // namespace
}  // namespace tessera::mpi
