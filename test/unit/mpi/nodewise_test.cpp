// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs with TESSERA_RANKS_PER_NODE=2: ranks 0 and 1 are a node, 2 and 3 another one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "mpi/native.hpp"
#include "mpi/world.hpp"
#include "test/contract/communicator_fixture.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::mpi {
namespace {

using test::Calls;
using test::Values;

class NodewiseTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_EQ(environment_.layout().nodes, environment_.size() / 2);
    if (GetParam()) test::buffer_memory() = memory_.get();
    order_sums(*world_, SumOrder::nodes);
    group_ = world_->split(0, world_->rank());
  }
  void TearDown() override { test::buffer_memory() = nullptr; }

  /// Every rank has what rank 0 has.
  template <class T>
  bool same_everywhere(const Values<T>& values) {
    Values<T> roots = values;
    const auto bytes = static_cast<int>(values.size() * sizeof(T));
    check(MPI_Bcast(roots.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return bytes == 0 || std::memcmp(roots.data(), values.data(), static_cast<std::size_t>(bytes)) == 0;
  }

  /// Of sums of numbers of up to 32: a few roundings.
  template <class T>
  static double largest_difference(const Values<T>& a, const Values<T>& b) {
    double largest = 0;
    for (std::size_t e = 0; e < a.size(); ++e)
      largest = std::max(largest, std::abs(static_cast<double>(a[e]) - static_cast<double>(b[e])));
    return largest;
  }

  const Environment& environment_ = test::mpi_environment();
  std::shared_ptr<NodeMemory> memory_ = std::make_shared<NodeMemory>(environment_);
  std::unique_ptr<Communicator> world_ = make_world(environment_, {.piece_bytes = 10000, .memory = memory_});
  std::unique_ptr<Communicator> group_;
};

constexpr std::int64_t k_counts[] = {0, 1, 5, 17, 1024, 4999, 100'003};

TEST_P(NodewiseTest, SumsAreThoseOfTheRanksAndTheSameEverywhere) {
  Calls calls(*group_);
  test::for_each_element_type([&]<class T>(T) {
    for (const std::int64_t count : k_counts) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
        auto values = test::elements<T>(group_->rank(), count);
        group_->all_reduce(test::view(values), op, calls.context(CallKind::all_reduce, count, dtype_of<T>)).wait();
        const auto wanted = test::reduced<T>(group_->size(), count, op);
        ASSERT_TRUE(same_everywhere(values)) << name_of(dtype_of<T>) << " " << name_of(op) << " of " << count;
        if constexpr (std::is_floating_point_v<T>) {
          if (op == ReduceOp::sum) {
            EXPECT_LE(largest_difference(values, wanted), sizeof(T) == 8 ? 1e-13 : 4e-5) << count;
            continue;
          }
        }
        EXPECT_TRUE(test::same_bits(values, wanted)) << name_of(dtype_of<T>) << " " << name_of(op) << " of " << count;
      }
    }
  });
}

// ((a + b) + c) + d and (a + b) + (c + d) differ here: the call does go node by node.
TEST_P(NodewiseTest, SumsAreFormedByNodes) {
  if (group_->size() != 4) GTEST_SKIP() << "needs 4 ranks";
  const float of_rank[] = {1, 1e8F, -1e8F, 1};
  Calls calls(*group_);
  Values<float> values(3, of_rank[group_->rank()]);
  group_->all_reduce(test::view(values), ReduceOp::sum, calls.context(CallKind::all_reduce, 3)).wait();
  EXPECT_EQ(values[0], 0);  // (1 + 1e8) + (-1e8 + 1)
  const auto in_order = make_world(environment_, {.memory = memory_});
  values.assign(3, of_rank[group_->rank()]);
  in_order->all_reduce(test::view(values), ReduceOp::sum, calls.context(CallKind::all_reduce, 3)).wait();
  EXPECT_EQ(values[0], 1);  // ((1 + 1e8) - 1e8) + 1
}

TEST_P(NodewiseTest, ManyMayBeOutstandingBesideOtherCalls) {
  constexpr int k_calls = 20;
  Calls calls(*group_);
  std::vector<Values<double>> sums, spread;
  std::vector<Work> works;
  for (int call = 0; call < k_calls; ++call) {
    const std::int64_t count = 1 + 997 * call;
    sums.push_back(test::elements<double>(group_->rank(), count));
    spread.push_back(test::elements<double>(group_->rank(), count));
  }
  for (std::size_t call = 0; call < k_calls; ++call) {
    const auto count = std::ssize(sums[call]);
    works.push_back(group_->all_reduce(test::view(sums[call]), ReduceOp::max,
                                       calls.context(CallKind::all_reduce, count, DType::f64)));
    works.push_back(group_->broadcast(test::view(spread[call]), 1, calls.context(CallKind::broadcast, count)));
  }
  for (std::size_t i = works.size(); i-- > 0;) works[i].wait();  // the last first
  for (std::size_t call = 0; call < k_calls; ++call) {
    EXPECT_TRUE(
        test::same_bits(sums[call], test::reduced<double>(group_->size(), std::ssize(sums[call]), ReduceOp::max)));
    EXPECT_TRUE(test::same_bits(spread[call], test::elements<double>(1, std::ssize(spread[call]))));
  }
}

// A group with one rank on each node, or with more on one node than on another, sums as ever.
TEST_P(NodewiseTest, OtherGroupsSumInOrder) {
  for (const int left_out : {-1, 0}) {
    const bool member = group_->rank() != left_out;
    const auto part = group_->split(member ? (left_out < 0 ? group_->rank() % 2 : 0) : -1, group_->rank());
    if (part == nullptr) continue;
    Calls calls(*part);
    auto values = test::elements<float>(part->rank(), 5000);
    part->all_reduce(test::view(values), ReduceOp::sum, calls.context(CallKind::all_reduce, 5000)).wait();
    EXPECT_TRUE(test::same_bits(values, test::reduced<float>(part->size(), 5000, ReduceOp::sum)));
  }
}

INSTANTIATE_TEST_SUITE_P(Buffers, NodewiseTest, testing::Values(true, false),
                         [](const auto& shared) { return shared.param ? "shared" : "elsewhere"; });

}  // namespace
}  // namespace tessera::mpi
