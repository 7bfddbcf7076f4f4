// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/slow_ranks.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

constexpr std::array k_even{0.10, 0.11, 0.10, 0.12};
constexpr std::array k_third_slow{0.10, 0.11, 0.25, 0.12};
constexpr std::array k_first_slow{0.30, 0.11, 0.10, 0.12};

TEST(SlowRanks, ARankIsNamedAfterThreeRoundsAndOnce) {
  SlowRanks ranks;
  EXPECT_FALSE(ranks.add(k_third_slow));
  EXPECT_FALSE(ranks.add(k_third_slow));
  const auto slow = ranks.add(k_third_slow);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rank, 2);
  EXPECT_EQ(slow->seconds, 0.25);
  EXPECT_EQ(slow->others, 0.11);
  for (int round = 0; round < 5; ++round) EXPECT_FALSE(ranks.add(k_third_slow));
}

TEST(SlowRanks, ChanceIsNotASlowRank) {
  SlowRanks ranks;
  for (const auto& round : {k_third_slow, k_third_slow, k_even, k_third_slow, k_third_slow, k_first_slow, k_third_slow,
                            k_first_slow, k_even})
    EXPECT_FALSE(ranks.add(round));
}

TEST(SlowRanks, OfTwoTheOtherIsTheMedian) {
  SlowRanks ranks;
  const std::array two{0.02, 0.01};
  EXPECT_FALSE(ranks.add(two));
  EXPECT_FALSE(ranks.add(two));
  EXPECT_EQ(ranks.add(two)->rank, 0);
}

TEST(SlowRanks, TooLittleToMatter) {
  SlowRanks ranks;
  const std::array tiny{1e-5, 1e-5, 9e-5};
  const std::array one{5.0};
  for (int round = 0; round < 5; ++round) {
    EXPECT_FALSE(ranks.add(tiny));
    EXPECT_FALSE(ranks.add(one));
  }
}

}  // namespace
}  // namespace tessera
