// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The same under MPI, whose collective calls work in memory that the plan grants.
#include <gtest/gtest.h>

#include "memory_probe.hpp"
#include "mpi/world.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::test {
namespace {

TEST(PlannedMemory, IsWhatRanksTouch) {
  const auto world = mpi::make_world(mpi_environment());
  for (const MemoryCase& c : memory_cases()) expect_planned_memory(c, *world, mpi::workspace_bytes);
}

}  // namespace
}  // namespace tessera::test
