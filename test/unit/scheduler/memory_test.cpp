// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory that a step touches is the memory that was planned: not a byte more, and to its end.
#include <gtest/gtest.h>

#include "core/comm/thread_communicator.hpp"
#include "memory_probe.hpp"
#include "test/support/context_strategies.hpp"

namespace tessera::test {
namespace {

/// More than nothing, so that slots are laid out; thread ranks do not use them.
std::int64_t some_workspace(CallKind, std::int64_t count, DType, int members) {
  return 192 * members + count;
}

TEST(PlannedMemory, IsWhatOneRankTouches) {
  for (const MemoryCase& c : memory_cases())
    run_ranks(1, [&](Communicator& world) { expect_planned_memory(c, world, some_workspace); });
}

TEST(PlannedMemory, IsWhatEachOfSeveralRanksTouches) {
  for (const int ranks : {2, 3})
    for (const MemoryCase& c : memory_cases())
      run_ranks(ranks, [&](Communicator& world) { expect_planned_memory(c, world, some_workspace); });
}

TEST(PlannedMemory, IsWhatEachTensorRankTouches) {
  for (const auto& [ranks, tensor] : {std::pair(2, 2), std::pair(4, 4), std::pair(4, 2)})
    for (MemoryCase c : memory_cases()) {
      c.tensor = tensor;
      run_ranks(ranks, [&](Communicator& world) { expect_planned_memory(c, world, some_workspace); });
    }
}

/// Where all tokens choose the same experts: all rows that can come, those of a capacity, and further rounds.
TEST(PlannedMemory, IsEnoughForSkewedRouters) {
  const MemoryCase& dense = memory_cases()[0];
  for (const auto& [ranks, tensor] : {std::pair(1, 1), std::pair(2, 1), std::pair(2, 2), std::pair(4, 2)})
    for (const int expert : {1, ranks})
      for (const auto& [capacity, rows] : {std::pair(0.0, 0.0), {1.0, 0.0}, {0.0, 1.0}, {0.0, 0.5}}) {
        MemoryCase c = dense;
        c.name = "experts, capacity " + std::to_string(capacity) + ", rows " + std::to_string(rows);
        c.model.experts = {.count = 4, .ffn = 24, .capacity = capacity, .rows = rows};
        c.tensor = tensor;
        c.expert = expert;
        run_ranks(ranks, [&](Communicator& world) { expect_planned_memory(c, world, some_workspace); });
      }
}

TEST(PlannedMemory, IsWhatEachContextRankTouches) {
  for (const std::string& attention : context_strategies())
    for (const auto& [ranks, context, tensor] : {std::tuple(2, 2, 1), std::tuple(4, 4, 1), std::tuple(4, 2, 2)})
      for (MemoryCase c : memory_cases()) {
        if (attention == "ring" && c.model.sequence % context != 0) continue;
        c.context = context;
        c.tensor = tensor;
        c.attention = attention;
        run_ranks(ranks, [&](Communicator& world) { expect_planned_memory(c, world, some_workspace); });
      }
}

}  // namespace
}  // namespace tessera::test
