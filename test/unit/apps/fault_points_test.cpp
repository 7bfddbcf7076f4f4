// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/fault_points.hpp"

#include <signal.h>
#include <stdlib.h>

#include <new>

#include "core/base/error.hpp"

namespace tessera::apps {
namespace {

TEST(FaultPointsTest, WhatIsPlannedIsRead) {
  const std::vector<PlannedFault> faults =
      parse_faults("rank=1 at=save.write step=6 do=USR1 to=launcher; at=load do=nan");
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].point, "save.write");
  EXPECT_EQ(faults[0].action, FaultAction::signal);
  EXPECT_EQ(faults[0].signal, SIGUSR1);
  EXPECT_EQ(faults[0].target, FaultTarget::launcher);
  EXPECT_EQ(faults[0].rank, 1);
  EXPECT_EQ(faults[0].step, 6);
  EXPECT_EQ(faults[1].action, FaultAction::nan);
  EXPECT_FALSE(faults[1].rank.has_value());
}

TEST(FaultPointsTest, NonsenseIsRefused) {
  for (const char* text : {"x", "at=step do=jump", "do=KILL", "at=step rank=one do=KILL", "at=step step=1x do=KILL"})
    EXPECT_THROW(parse_faults(text), Error) << text;
}

TEST(FaultPointsTest, OnlyThePlannedRankPointAndStepAreMeant) {
  ASSERT_EQ(setenv("TESSERA_FAULT", "at=step rank=1 step=6 do=no_memory; at=step rank=0 do=flip", 1), 0);
  FaultPoints zero(0, 2), one(1, 2);
  EXPECT_THROW(FaultPoints(0, 1), Error);
  unsetenv("TESSERA_FAULT");
  EXPECT_TRUE(zero.any());
  EXPECT_EQ(zero.reached("step", 6), FaultAction::flip);
  EXPECT_EQ(zero.reached("load"), std::nullopt);
  EXPECT_EQ(one.reached("step", 5), std::nullopt);
  EXPECT_THROW(one.reached("step", 6), std::bad_alloc);
  EXPECT_FALSE(FaultPoints(0, 1).any());
}

}  // namespace
}  // namespace tessera::apps
