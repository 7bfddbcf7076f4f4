// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_memory.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstring>
#include <numeric>

#include "core/base/error.hpp"
#include "mpi/direct_call.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::mpi {
namespace {

const Environment& environment() {
  return test::mpi_environment();
}
int rank() {
  return environment().rank();
}
int size() {
  return environment().size();
}

void barrier() {
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

class NodeMemoryTest : public testing::Test {
 protected:
  std::shared_ptr<NodeMemory> memory_ = std::make_shared<NodeMemory>(environment());

  float* floats(std::int64_t count) { return static_cast<float*>(memory_->allocate(count * 4)); }

  NodeGroup group() { return NodeGroup(memory_, MPI_COMM_WORLD, rank(), memory_->world_ranks()); }
};

TEST_F(NodeMemoryTest, IsReadInPlaceByTheOthers) {
  auto* own = static_cast<int*>(memory_->allocate(100 * sizeof(int)));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own) % 64, 0U);
  EXPECT_EQ(own[99], 0);
  std::iota(own, own + 100, 1000 * rank());
  const auto offset = memory_->offset_of(own, 100 * sizeof(int));
  ASSERT_TRUE(offset.has_value());
  barrier();
  ASSERT_EQ(std::ssize(memory_->world_ranks()), size());
  for (int other = 0; other < size(); ++other) {
    EXPECT_EQ(reinterpret_cast<const int*>(memory_->at(other, *offset))[99], 1000 * other + 99);
  }
  barrier();
}

TEST_F(NodeMemoryTest, KnowsWhatLiesInIt) {
  std::byte* block = static_cast<std::byte*>(memory_->allocate(4096));
  EXPECT_TRUE(memory_->offset_of(block, 4096).has_value());
  EXPECT_TRUE(memory_->offset_of(block + 4095, 1).has_value());
  EXPECT_FALSE(memory_->offset_of(block + 4095, 2).has_value());
  EXPECT_FALSE(memory_->offset_of(block - (std::int64_t{1} << 40), 1).has_value());
  const int elsewhere = 0;
  EXPECT_FALSE(memory_->offset_of(&elsewhere, sizeof(elsewhere)).has_value());
}

TEST_F(NodeMemoryTest, ReleasedPagesAreGivenBack) {
  std::byte* first = static_cast<std::byte*>(memory_->allocate(1 << 20));
  std::byte* second = static_cast<std::byte*>(memory_->allocate(1 << 20));
  std::memset(first, 7, 1 << 20);
  std::memset(second, 8, 1 << 20);
  memory_->release(first);
  EXPECT_EQ(first[1000], std::byte{0});
  EXPECT_EQ(second[1000], std::byte{8});
}

TEST_F(NodeMemoryTest, RefusesMoreThanTheNodeHas) {
  try {
    memory_->allocate(std::int64_t{1} << 60);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resources);
  }
}

TEST(FindNodeMemory, IsThereOnOneNode) {
  std::string why_not;
  EXPECT_NE(find_node_memory(environment(), why_not), nullptr) << why_not;
  EXPECT_EQ(why_not, "");
}

DirectCall::Outcome run(DirectCall& call) {
  while (true) {
    const DirectCall::Outcome outcome = call.advance();
    if (outcome != DirectCall::Outcome::waiting) {
      return outcome;
    }
    sched_yield();
  }
}

TEST_F(NodeMemoryTest, ADirectCallNeedsNoMessages) {
  NodeGroup members = group();
  const std::int64_t count = 10001;
  float* values = floats(count);
  const View view{values, count, DType::f32};
  DirectCall call;
  call.reserve(size());
  for (std::uint64_t number = 0; number < 200; ++number) {
    for (std::int64_t e = 0; e < count; ++e) {
      values[e] = static_cast<float>(e % 100 + rank() + static_cast<int>(number));
    }
    call.start(members, {.kind = CallKind::all_reduce, .in = view, .out = view}, number);
    ASSERT_EQ(run(call), DirectCall::Outcome::done);
    const int ranks = size() * (size() - 1) / 2;
    ASSERT_EQ(values[0], static_cast<float>(size() * static_cast<int>(number) + ranks)) << number;
    ASSERT_EQ(values[count - 1], static_cast<float>(size() * static_cast<int>(number) + ranks)) << number;
    ASSERT_EQ(values[99], static_cast<float>(size() * (99 + static_cast<int>(number)) + ranks)) << number;
  }
  barrier();
}

TEST_F(NodeMemoryTest, ACallIsRefusedByAllWhenOneHasItsDataElsewhere) {
  NodeGroup members = group();
  std::vector<float> elsewhere(2000, 1.0F);
  float* shared = floats(2000);
  DirectCall call;
  call.reserve(size());
  for (std::uint64_t number = 0; number < 2 * NodeGroup::k_ring; ++number) {
    const int outsider = static_cast<int>(number) % (size() + 1);  // the last number: nobody
    const View view{rank() == outsider ? elsewhere.data() : shared, 2000, DType::f32};
    call.start(members, {.kind = CallKind::all_reduce, .in = view, .out = view}, number);
    ASSERT_EQ(run(call), outsider == size() ? DirectCall::Outcome::done : DirectCall::Outcome::refused) << number;
  }
  barrier();
}

// Posted far ahead: a call is shown only when its place in the ring is free.
TEST_F(NodeMemoryTest, CallsWaitForTheirTurn) {
  NodeGroup members = group();
  float* values = floats(4);
  std::vector<DirectCall> calls(2 * NodeGroup::k_ring);
  const View view{values, 4, DType::f32};
  for (std::uint64_t number = 0; number < calls.size(); ++number) {
    calls[number].reserve(size());
    calls[number].start(members, {.kind = CallKind::all_reduce, .op = ReduceOp::max, .in = view, .out = view}, number);
  }
  std::fill_n(values, 4, static_cast<float>(rank()));
  barrier();
  EXPECT_EQ(calls.back().advance(), DirectCall::Outcome::waiting);
  EXPECT_EQ(calls[1].advance(), DirectCall::Outcome::waiting);
  for (DirectCall& call : calls) {
    ASSERT_EQ(run(call), DirectCall::Outcome::done);
    ASSERT_EQ(values[3], static_cast<float>(size() - 1));
  }
  barrier();
}

}  // namespace
}  // namespace tessera::mpi
