// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/contract/steady_calls.hpp"

#include <gtest/gtest.h>

#include "core/comm/self_communicator.hpp"
#include "core/comm/thread_communicator.hpp"

namespace tessera::test {
namespace {

TEST(SteadyCalls, AllocationsAreSeen) {
  const std::int64_t before = allocations();
  (void)make_self_communicator();  // allocates inside the library
  EXPECT_GE(allocations() - before, 1);
}

TEST(SteadyCalls, AllocateNothing) {
  EXPECT_EQ(allocations_of_steady_calls(*make_self_communicator()), 0);
  run_ranks(3, [](Communicator& world) { EXPECT_EQ(allocations_of_steady_calls(world), 0); });
}

}  // namespace
}  // namespace tessera::test
