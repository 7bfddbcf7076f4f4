// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/world.hpp"
#include "test/contract/communicator_contract.hpp"
#include "test/contract/steady_calls.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::test {
namespace {

RankRunner message_runner(std::string name, std::int64_t piece_bytes) {
  return {std::move(name), mpi_environment().size(), [piece_bytes](const std::function<void(Communicator&)>& rank) {
            rank(*mpi::make_world(mpi_environment(), {piece_bytes, nullptr}));
          }};
}

std::shared_ptr<mpi::NodeMemory> node_memory() {
  static const auto memory = std::make_shared<mpi::NodeMemory>(mpi_environment());
  return memory;
}

/// Buffers lie in shared memory, or (`everywhere` false) on the even ranks only, so that calls must do without.
RankRunner shared_runner(std::string name, bool everywhere) {
  return {std::move(name), mpi_environment().size(), [everywhere](const std::function<void(Communicator&)>& rank) {
            const auto memory = node_memory();
            const auto world = mpi::make_world(mpi_environment(), {.piece_bytes = 1 << 20, .memory = memory});
            buffer_memory() = everywhere || world->rank() % 2 == 0 ? memory.get() : nullptr;
            rank(*world);
            buffer_memory() = nullptr;
          }};
}

// In pieces of 1000 bytes every message of some size is cut.
INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorContract,
                         testing::Values(message_runner("whole", mpi::CommunicatorOptions{}.piece_bytes),
                                         message_runner("pieces", 1000), shared_runner("shared", true),
                                         shared_runner("partly_shared", false)),
                         [](const auto& runner) { return runner.param.name; });

TEST(MpiSteadyCalls, AllocateNothing) {
  const auto world = mpi::make_world(mpi_environment());
  EXPECT_EQ(allocations_of_steady_calls(*world), 0);
}

TEST(MpiSteadyCalls, AllocateNothingInSharedMemory) {
  shared_runner("", true).run([](Communicator& world) { EXPECT_EQ(allocations_of_steady_calls(world), 0); });
}

}  // namespace
}  // namespace tessera::test
