// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/world.hpp"
#include "test/contract/communicator_contract.hpp"
#include "test/contract/steady_calls.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::test {
namespace {

RankRunner mpi_runner(std::string name, std::int64_t piece_bytes) {
  return {std::move(name), mpi_environment().size(), [piece_bytes](const std::function<void(Communicator&)>& rank) {
            rank(*mpi::make_world(mpi_environment(), {piece_bytes}));
          }};
}

// In pieces of 1000 bytes, which no element size but 1, 2, 4 and 8 divides, every message of some size is cut.
INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorContract,
                         testing::Values(mpi_runner("whole", mpi::CommunicatorOptions{}.piece_bytes),
                                         mpi_runner("pieces", 1000)),
                         [](const auto& runner) { return runner.param.name; });

TEST(MpiSteadyCalls, AllocateNothing) {
  const auto world = mpi::make_world(mpi_environment());
  EXPECT_EQ(allocations_of_steady_calls(*world), 0);
}

}  // namespace
}  // namespace tessera::test
