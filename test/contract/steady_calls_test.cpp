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

/// How far a sender runs ahead of its receiver is a matter of speed, so it must not matter.
TEST(SteadyCalls, MoreMessagesUnderWayThanEverBeforeAllocateNothing) {
  run_ranks(2, [](Communicator& world) {
    Calls calls(world);
    const auto context = calls.context(CallKind::send, 10);
    Values<float> values(10);
    for (const int messages : {1, Communicator::k_slots}) {
      std::vector<Work> posted(static_cast<std::size_t>(messages));
      const std::int64_t before = allocations();
      if (world.rank() == 1) world.barrier();  // all are sent
      for (Work& work : posted)
        work = world.rank() == 0 ? world.send(view(values), 1, context) : world.receive(view(values), 0, context);
      if (world.rank() == 0) world.barrier();
      for (Work& work : posted) work.wait();
      if (messages > 1) {
        EXPECT_EQ(allocations() - before, 0) << "rank " << world.rank();
      }
    }
  });
}

}  // namespace
}  // namespace tessera::test
