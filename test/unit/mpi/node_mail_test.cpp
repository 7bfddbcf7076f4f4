// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_mail.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "mpi/direct_call.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::mpi {
namespace {

using Outcome = DirectCall::Outcome;
using Place = NodeParcel::Place;

void barrier() {
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

Outcome run(DirectCall& call) {
  while (true) {
    const Outcome outcome = call.advance();
    if (outcome != Outcome::waiting) return outcome;
    sched_yield();
  }
}

/// Rank 0 sends to rank 1; others look on.
class NodeMailTest : public testing::Test {
 protected:
  static constexpr std::int64_t k_large = 3000;

  float* floats(std::int64_t count) { return static_cast<float*>(memory_->allocate(count * 4)); }
  static View view(float* data, std::int64_t count) { return {data, count, DType::f32}; }
  void start_send(DirectCall& call, ConstView in, std::uint64_t number) {
    call.start(group_, {.kind = CallKind::send, .in = in, .peer = 1}, number);
  }
  void start_receive(DirectCall& call, View out, std::uint64_t number) {
    call.start(group_, {.kind = CallKind::receive, .in = out, .out = out, .peer = 0}, number);
  }

  const int rank_ = test::mpi_environment().rank();
  std::shared_ptr<NodeMemory> memory_ = std::make_shared<NodeMemory>(test::mpi_environment());
  NodeGroup group_{memory_, MPI_COMM_WORLD, rank_, memory_->world_ranks()};
};

TEST_F(NodeMailTest, ASmallMessageLeavesItsSenderAtOnce) {
  DirectCall call;
  if (rank_ == 0) {
    float local[3] = {1, 2, 3};
    start_send(call, view(local, 3), 0);
    EXPECT_EQ(call.advance(), Outcome::done);
    local[1] = -1;
  }
  barrier();
  if (rank_ == 1) {
    float local[3] = {};
    start_receive(call, view(local, 3), 0);
    EXPECT_EQ(call.advance(), Outcome::done);
    EXPECT_EQ(local[1], 2);
  }
  barrier();
}

// A sender that computes does not hold up its receiver.
TEST_F(NodeMailTest, ALargeMessageIsTakenWithoutItsSender) {
  float* values = floats(k_large);
  DirectCall call;
  if (rank_ == 0) {
    std::iota(values, values + k_large, 0.0F);
    start_send(call, view(values, k_large), 0);
    EXPECT_EQ(call.advance(), Outcome::waiting);
  }
  barrier();
  if (rank_ == 1) {
    start_receive(call, view(values, k_large), 0);
    EXPECT_EQ(call.advance(), Outcome::done);
    EXPECT_EQ(values[k_large - 1], static_cast<float>(k_large - 1));
  }
  barrier();
  if (rank_ == 0) {
    EXPECT_EQ(call.advance(), Outcome::done);
  }
  barrier();
}

TEST_F(NodeMailTest, DataElsewhereAreLeftToMessagesByBothInTheirOrder) {
  std::vector<float> elsewhere(k_large);
  float* shared = floats(k_large);
  for (std::uint64_t number = 0; number < 3 * NodeMail::k_ring; ++number) {
    DirectCall call;
    const bool outside = number % 3 == 1;
    if (rank_ == 0) {
      shared[0] = static_cast<float>(number);
      start_send(call, view(outside ? elsewhere.data() : shared, k_large), number);
      ASSERT_EQ(run(call), outside ? Outcome::refused : Outcome::done) << number;
    } else if (rank_ == 1) {
      start_receive(call, view(shared, k_large), number);
      ASSERT_EQ(run(call), outside ? Outcome::refused : Outcome::done) << number;
      if (!outside) {
        ASSERT_EQ(shared[0], static_cast<float>(number));
      }
    }
  }
  barrier();
}

TEST_F(NodeMailTest, AFullRingMakesItsSenderWait) {
  NodeMail& mail = group_.mail();
  float local = 0;
  if (rank_ == 0) {
    for (std::uint64_t number = 0; number < NodeMail::k_ring; ++number) {
      local = static_cast<float>(number);
      EXPECT_EQ(mail.try_send(1, number, view(&local, 1)), Place::inside);
    }
    EXPECT_EQ(mail.try_send(1, NodeMail::k_ring, view(&local, 1)), std::nullopt);
  }
  barrier();
  if (rank_ == 1) {
    EXPECT_EQ(mail.arrived(0, 1), std::nullopt) << "before the one before it is taken";
    const auto first = mail.arrived(0, 0);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(*static_cast<const float*>(first->data), 0);
    mail.take(0, 0);
    EXPECT_EQ(*static_cast<const float*>(mail.arrived(0, 1)->data), 1);
  }
  barrier();
  if (rank_ == 0) {
    EXPECT_TRUE(mail.taken(1, 0));
    EXPECT_FALSE(mail.taken(1, 1));
    EXPECT_EQ(mail.try_send(1, NodeMail::k_ring, view(&local, 1)), Place::inside);
  }
  barrier();
}

template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::disagreement);
    return error.what();
  }
  return "none";
}

TEST_F(NodeMailTest, WhatIsNotExpectedIsRefusedWithBothSides) {
  float local[3] = {};
  DirectCall call;
  if (rank_ == 0) {
    start_send(call, view(local, 2), 0);
    EXPECT_EQ(call.advance(), Outcome::done);
  } else if (rank_ == 1) {
    start_receive(call, view(local, 3), 0);
    EXPECT_EQ(refusal([&] { run(call); }), "rank 0 sends 2 f32 where rank 1 receives 3 f32");
  }
  barrier();
}

TEST_F(NodeMailTest, DifferentCollectiveCallsAreRefusedWithBothSides) {
  float local[3] = {};
  DirectCall call;
  call.reserve(group_.size());
  const View all = view(local, rank_ == 1 ? 3 : 2);
  call.start(group_, {.kind = CallKind::all_reduce, .in = all, .out = all}, 0);
  const std::string text = refusal([&] { run(call); });
  const std::string size = std::to_string(group_.size());
  EXPECT_EQ(text, rank_ == 1 ? "collective call 1 of a group of " + size +
                                   ": rank 1 made all_reduce sum of 3 f32, rank 0 made all_reduce sum of 2 f32"
                             : "collective call 1 of a group of " + size + ": rank " + std::to_string(rank_) +
                                   " made all_reduce sum of 2 f32, rank 1 made all_reduce sum of 3 f32");
  barrier();
}

double seconds_of_sleep(NodeBell& bell, bool rung) {
  double least = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    bell.sleep([&] {
      if (rung) bell.ring();  // between the look and the sleep: the worst moment
      return false;
    });
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

TEST_F(NodeMailTest, ABellThatRangIsNotSleptThrough) {
  EXPECT_LT(seconds_of_sleep(memory_->own_bell(), true), 0.05);
  EXPECT_GT(seconds_of_sleep(memory_->own_bell(), false), 0.05);
  barrier();
}

// Each rank sleeps until the one before it has written and rung: the shared word wakes another process.
TEST_F(NodeMailTest, ABellWakesAnotherProcess) {
  auto* word = static_cast<std::atomic<int>*>(memory_->allocate(64));
  const std::uint64_t offset = *memory_->offset_of(word, 64);
  const int size = group_.size(), next = (rank_ + 1) % size;
  auto* next_word = reinterpret_cast<std::atomic<int>*>(memory_->at(next, offset));
  barrier();
  for (int round = 1; round <= 100; ++round) {
    if (rank_ != 0 || round > 1) {
      while (word->load() < round) memory_->own_bell().sleep([&] { return word->load() >= round; });
    }
    next_word->store(rank_ == size - 1 ? round + 1 : round);
    NodeBell::announce();
    memory_->bell(next).ring();
  }
  EXPECT_GE(word->load(), 100);
  barrier();
}

}  // namespace
}  // namespace tessera::mpi
