// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "core/base/error.hpp"

namespace tessera::mpi {
namespace {

using testing::HasSubstr;

CoreSet first_cores(int n, int first = 0) {
  CoreSet cores;
  for (int core = first; core < first + n; ++core) {
    cores.push_back(core);
  }
  return cores;
}

TEST(Threads, RanksShareTheCoresThatTheyMayAllUse) {
  const std::vector<CoreSet> one{first_cores(8)};
  EXPECT_EQ(choose_threads(one, 0, 8, {}).threads, 8);
  const std::vector<CoreSet> two(2, first_cores(8));
  EXPECT_EQ(choose_threads(two, 1, 8, {}).threads, 4);
  EXPECT_THAT(choose_threads(two, 1, 8, {}).reason, HasSubstr("8 of 8 cores and shares them with 1 other rank"));
  const std::vector<CoreSet> three(3, first_cores(8));
  EXPECT_EQ(choose_threads(three, 2, 8, {}).threads, 2);
}

TEST(Threads, BoundRanksUseTheirOwnCores) {
  const std::vector<CoreSet> halves{first_cores(4), first_cores(4, 4)};
  EXPECT_EQ(choose_threads(halves, 0, 8, {}).threads, 4);
  EXPECT_THAT(choose_threads(halves, 0, 8, {}).reason, HasSubstr("with 0 other ranks"));
  const std::vector<CoreSet> narrow{first_cores(1)};
  EXPECT_EQ(choose_threads(narrow, 0, 8, {}).threads, 1);
  EXPECT_THAT(choose_threads(narrow, 0, 8, {}).reason, HasSubstr("--bind-to none"));
  const std::vector<CoreSet> mixed{first_cores(8), first_cores(4), first_cores(4)};
  EXPECT_EQ(choose_threads(mixed, 1, 8, {}).threads, 1);
}

TEST(Threads, MoreRanksThanCores) {
  const std::vector<CoreSet> many(4, first_cores(2));
  EXPECT_EQ(choose_threads(many, 3, 2, {}).threads, 1);
  EXPECT_THAT(choose_threads(many, 3, 2, {}).reason, HasSubstr("more ranks than cores"));
}

TEST(Threads, TheVariableWins) {
  const std::vector<CoreSet> cores{first_cores(8)};
  EXPECT_EQ(choose_threads(cores, 0, 8, "3").threads, 3);
  EXPECT_EQ(choose_threads(cores, 0, 8, "4,2").threads, 4);
  EXPECT_THAT(choose_threads(cores, 0, 8, "3").reason, HasSubstr("OMP_NUM_THREADS"));
  EXPECT_EQ(choose_threads(cores, 0, 8, "").threads, 8);
  for (const char* text : {"0", "-2", "many", "2x", " 2"}) {
    EXPECT_THROW(choose_threads(cores, 0, 8, text), Error) << text;
  }
}

TEST(Threads, UnknownCoresMeanOneThread) {
  const std::vector<CoreSet> unknown{{}};
  EXPECT_EQ(choose_threads(unknown, 0, 8, {}).threads, 1);
}

TEST(Threads, BindingIsSeen) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const Cores all = find_cores();
  EXPECT_GE(all.machine, 1);
  EXPECT_LE(std::ssize(all.allowed), all.machine);
  EXPECT_GE(std::ssize(all.allowed), 1);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(find_cores().allowed.size(), 1U);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace tessera::mpi
