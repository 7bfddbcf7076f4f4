// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/loss_watch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tessera {
namespace {

/// A loss that falls from 10 to 3, with noise.
double usual(int step, std::mt19937_64& random) {
  return 3 + 7 * std::exp(-step / 200.0) + std::normal_distribution<>(0, 0.05)(random);
}

TEST(LossWatch, AJumpIsToldOnceWithTheMedianBefore) {
  std::mt19937_64 random(1);
  LossWatch watch;
  for (int step = 0; step < 500; ++step) ASSERT_FALSE(watch.add(usual(step, random))) << step;
  const auto before = watch.add(6);
  ASSERT_TRUE(before);
  EXPECT_NEAR(*before, usual(470, random), 0.3);
  for (int step = 500; step < 540; ++step) ASSERT_FALSE(watch.add(6)) << "told already";
}

TEST(LossWatch, AfterAWhileItIsToldAgain) {
  std::mt19937_64 random(2);
  LossWatch watch;
  int told = 0;
  for (int step = 1000; step < 1400; ++step)
    told += watch.add(step == 1100 || step == 1110 || step == 1300 ? 30 : usual(step, random)) ? 1 : 0;
  EXPECT_EQ(told, 2);
}

TEST(LossWatch, FirstStepsFallingLossesAndNumbersThatAreNoneAreNoJumps) {
  LossWatch watch;
  for (const double loss : {1.0, 5.0, 9.0, 20.0}) EXPECT_FALSE(watch.add(loss));
  for (int step = 0; step < 100; ++step) EXPECT_FALSE(watch.add(10.0 - 0.05 * step));
  EXPECT_FALSE(watch.add(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(watch.add(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(watch.add(6)) << "within a fifth of the median";
}

TEST(LossWatch, OfAnEvenRunAFifthMore) {
  LossWatch watch;
  for (int step = 0; step < 50; ++step) EXPECT_FALSE(watch.add(2));
  EXPECT_FALSE(watch.add(2.3));
  EXPECT_EQ(watch.add(2.5), 2);
}

}  // namespace
}  // namespace tessera
