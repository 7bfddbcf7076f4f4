// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the element types of values, and which type goes with which.
// Used: graph, kernels, communicators, files.
// Must not know: MPI, CUDA or HDF5 names of these types.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, u16, u8 };

/// Bytes of one element.
constexpr std::int64_t size_of(DType t) {
  constexpr std::array<std::int64_t, 8> bytes{8, 4, 2, 2, 8, 4, 2, 1};
  return bytes[static_cast<std::size_t>(t)];
}

constexpr std::string_view name_of(DType t) {
  constexpr std::array<std::string_view, 8> names{"f64", "f32", "bf16", "f16", "i64", "i32", "u16", "u8"};
  return names[static_cast<std::size_t>(t)];
}

constexpr bool is_floating(DType t) {
  return t <= DType::f16;
}

/// The type in which sums and statistics of `t` are kept: fp32, or fp64 in the checking mode.
constexpr DType accumulation_of(DType t) {
  return is_floating(t) && t != DType::f64 ? DType::f32 : t;
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};

/// The DType of a C++ element type.
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace tessera
