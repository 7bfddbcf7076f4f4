// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the two 16-bit floating types as storage, and their exact conversions.
// Used: kernels, communicators, readers of weights.
// Must not know: processors' own half instructions (the compiler may use them), arithmetic in 16 bits (there is none).
#pragma once

#include <bit>
#include <cstdint>

#include "core/base/dtype.hpp"

namespace tessera {

// Widening is exact. Narrowing rounds to nearest, ties to even (IEEE 754), overflows to infinity, keeps subnormals, and
// keeps a NaN a (quiet) NaN of the same sign. The functions select instead of branching, so loops over them vectorise.

/// bfloat16: the upper half of an IEEE binary32.
constexpr float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

constexpr std::uint16_t float_to_bf16(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (u + 0x7fffU + ((u >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (u >> 16) | 0x40U;
  return static_cast<std::uint16_t>((u & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

/// IEEE binary16.
constexpr float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  // The exponent's bias is 15 there and 127 here; infinity and NaN move to the largest exponent.
  const std::uint32_t normal = (magnitude << 13) + (112U << 23);
  const std::uint32_t special = (magnitude << 13) | 0x7f800000U;
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  std::uint32_t u = magnitude < 0x0400U ? std::bit_cast<std::uint32_t>(subnormal) : normal;
  u = magnitude >= 0x7c00U ? special : u;
  return std::bit_cast<float>(u | sign);
}

constexpr std::uint16_t float_to_f16(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (u >> 16) & 0x8000U;
  const std::uint32_t magnitude = u & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  // Below 2^-14 the unit in the last place is 2^-24, which is that of floats in [0.5, 1): adding 0.5 rounds for us.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t quiet = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  std::uint32_t half = magnitude < 0x38800000U ? subnormal : normal;
  half = magnitude >= 0x477ff000U ? 0x7c00U : half;  // 65520 and above round to infinity
  half = magnitude > 0x7f800000U ? quiet : half;
  return static_cast<std::uint16_t>(half | sign);
}

/// Storage of one element, for code that is generic in the element type.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit constexpr BFloat16(float value) : bits(float_to_bf16(value)) {}
  explicit constexpr operator float() const { return bf16_to_float(bits); }
};

struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit constexpr Float16(float value) : bits(float_to_f16(value)) {}
  explicit constexpr operator float() const { return f16_to_float(bits); }
};

template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = DType::f16;
};

}  // namespace tessera
