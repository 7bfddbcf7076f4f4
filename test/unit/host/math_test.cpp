// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/math.hpp"

#include <gtest/gtest.h>

namespace tessera::host {
namespace {

TEST(Math, ExponentialIsAccurateOverItsRange) {
  double float_error = 0, double_error = 0;
  for (int i = -170000; i <= 170000; ++i) {
    const float x = static_cast<float>(i) * 5e-4F;
    const double exact = std::exp(static_cast<double>(x));
    float_error = std::max(float_error, std::fabs(static_cast<double>(exponential(x)) / exact - 1));
    const double y = i * 4.1e-3, exact_y = std::exp(y);
    double_error = std::max(double_error, std::fabs(exponential(y) / exact_y - 1));
  }
  EXPECT_LT(float_error, 2e-7);
  EXPECT_LT(double_error, 1e-15);
}

TEST(Math, ExponentialAtTheEnds) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(-infinity), 0.0F);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_EQ(exponential(-1000.0F), 0.0F);
  EXPECT_EQ(exponential(0.0F), 1.0F);
  EXPECT_EQ(exponential(89.0F), infinity);
  EXPECT_TRUE(std::isnan(exponential(std::nanf(""))));
  EXPECT_EQ(exponential(-std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(exponential(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_EQ(exponential(0.0), 1.0);
  EXPECT_EQ(exponential(-1e4), 0.0);
  EXPECT_EQ(exponential(710.0), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exponential(std::nan(""))));
}

TEST(Math, LogarithmIsAccurateOverItsRange) {
  double error = 0;
  for (int i = -520; i <= 520; ++i)
    for (const double fraction :
         {1.0, 1.0 + 0x1p-52, 1.2, 1.4142135623730949, 1.4142135623730951, 1.7, 2.0 - 0x1p-52}) {
      const double x = std::ldexp(fraction, i), exact = std::log(x);
      if (exact != 0) error = std::max(error, std::fabs(logarithm(x) / exact - 1));
    }
  EXPECT_LT(error, 1e-15);
  EXPECT_EQ(logarithm(1.0), 0.0);
  EXPECT_NEAR(logarithm(1.0 - 0x1p-53), -0x1p-53, 1e-31);
}

TEST(Math, SineAndCosineNearAndFar) {
  double error = 0;
  for (int i = -200000; i <= 200000; ++i) {
    const double x = i * 3.7;
    const SineCosine<double> turn = sine_cosine(x);
    error = std::max({error, std::fabs(turn.sine - std::sin(x)), std::fabs(turn.cosine - std::cos(x))});
  }
  EXPECT_LT(error, 3e-16);
}

TEST(Math, NormalDistribution) {
  double error = 0;
  for (int i = -8000; i <= 8000; ++i) {
    const float x = static_cast<float>(i) * 1e-3F;
    const double exact = 0.5 * std::erfc(-static_cast<double>(x) * 0.70710678118654752);
    error = std::max(error, std::fabs(static_cast<double>(standard_normal(x).distribution) - exact));
  }
  EXPECT_LT(error, 3e-7);
}

}  // namespace
}  // namespace tessera::host
