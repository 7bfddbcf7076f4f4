// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

/// The value of a finite binary16 by its definition.
double value_of_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, WideningEveryF16) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16_to_float(static_cast<std::uint16_t>(bits));
    if ((bits & 0x7c00) == 0x7c00) {
      EXPECT_EQ(std::isnan(value), (bits & 0x3ff) != 0) << bits;
      EXPECT_EQ(std::isinf(value), (bits & 0x3ff) == 0) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), value_of_f16(static_cast<std::uint16_t>(bits))) << bits;
    }
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
  }
}

TEST(Half, NarrowingReturnsEveryF16AndBf16) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(f16_to_float(half))) {
      ASSERT_EQ(float_to_f16(f16_to_float(half)), half);
    }
    if (!std::isnan(bf16_to_float(half))) {
      ASSERT_EQ(float_to_bf16(bf16_to_float(half)), half);
    }
  }
}

// Between two neighbours: just below the middle goes down, the middle goes to the even one, just above goes up.
template <class Widen, class Narrow>
void check_rounding(std::uint16_t last, Widen widen, Narrow narrow) {
  for (std::uint32_t bits = 0; bits < last; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const double middle = (static_cast<double>(widen(low)) + static_cast<double>(widen(high))) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(tie), middle);
    const std::uint16_t even = (low & 1) == 0 ? low : high;
    for (const std::uint16_t sign : {std::uint16_t{0}, std::uint16_t{0x8000}}) {
      const float factor = sign == 0 ? 1.0F : -1.0F;
      ASSERT_EQ(narrow(factor * tie), sign | even) << bits;
      ASSERT_EQ(narrow(factor * std::nextafter(tie, 0.0F)), sign | low) << bits;
      ASSERT_EQ(narrow(factor * std::nextafter(tie, std::numeric_limits<float>::infinity())), sign | high) << bits;
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  check_rounding(0x7bff, f16_to_float, float_to_f16);
  check_rounding(0x7f7f, bf16_to_float, float_to_bf16);
}

TEST(Half, OverflowAndSpecials) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float_to_f16(65504.0F), 0x7bff);
  EXPECT_EQ(float_to_f16(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_f16(-1e30F), 0xfc00);
  EXPECT_EQ(float_to_f16(infinity), 0x7c00);
  EXPECT_EQ(float_to_f16(0x1p-25F), 0x0000);
  EXPECT_EQ(float_to_f16(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(float_to_f16(-0.0F), 0x8000);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bf16(-infinity), 0xff80);
  for (const std::uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xff800001U, 0xffffffffU}) {
    const auto nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(nan)))) << bits;
    EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(nan)))) << bits;
    EXPECT_EQ(float_to_f16(nan) >> 15, bits >> 31);
    EXPECT_EQ(float_to_bf16(nan) >> 15, bits >> 31);
  }
}

TEST(Half, TypesCarryTheirDType) {
  EXPECT_EQ(dtype_of<BFloat16>, DType::bf16);
  EXPECT_EQ(dtype_of<Float16>, DType::f16);
  EXPECT_EQ(static_cast<float>(BFloat16(1.0F + 0x1p-9F)), 1.0F);
  EXPECT_EQ(static_cast<float>(Float16(1.0F + 0x1p-10F)), 1.0F + 0x1p-10F);
}

}  // namespace
}  // namespace tessera
