// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  vectors of the processor's width, and the way of the four storage types into and out of them.
// Used: kernels of the host.
// Must not know: shapes, threads.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/half.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tessera::host {

/// The type in which a kernel computes on stored elements of type T.
template <class T>
using Accumulation = std::conditional_t<std::is_same_v<T, double>, double, float>;

#if defined(__AVX512F__)
inline constexpr int k_vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int k_vector_bytes = 32;
#else
inline constexpr int k_vector_bytes = 16;
#endif

template <class T, int Lanes>
struct VectorType {
  typedef T type __attribute__((vector_size(sizeof(T) * Lanes)));
};
template <class T, int Lanes>
using VectorOf = typename VectorType<T, Lanes>::type;

/// Elements of an arithmetic type in one vector.
template <class A>
inline constexpr int k_lanes = k_vector_bytes / static_cast<int>(sizeof(A));

/// One full vector of an arithmetic type.
template <class A>
using Vector = VectorOf<A, k_lanes<A>>;

#if defined(__AVX512F__)
/// The mask of an unmasked conversion: gcc 12 warns of an uninitialised value inside the forms without a mask.
inline constexpr __mmask16 k_all_lanes = 0xffff;
#endif

template <class T>
constexpr Accumulation<T> widen(T x) {
  return static_cast<Accumulation<T>>(x);
}

template <class T>
constexpr T narrow(Accumulation<T> x) {
  return static_cast<T>(x);
}

/// One vector from memory of any alignment, widened.
template <class T>
Vector<Accumulation<T>> load(const T* source) {
  using A = Accumulation<T>;
  constexpr int lanes = k_lanes<A>;
  Vector<A> vector;
  if constexpr (std::is_same_v<T, A>) {
    std::memcpy(&vector, source, sizeof vector);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    VectorOf<std::uint16_t, lanes> bits;
    std::memcpy(&bits, source, sizeof bits);
    const auto wide = __builtin_convertvector(bits, VectorOf<std::uint32_t, lanes>) << 16;
    std::memcpy(&vector, &wide, sizeof vector);
  } else {
#if defined(__AVX512F__)
    vector =
        (Vector<A>)_mm512_maskz_cvtph_ps(k_all_lanes, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
#elif defined(__F16C__)
    vector = (Vector<A>)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
#else
    for (int lane = 0; lane < lanes; ++lane) vector[lane] = widen(source[lane]);
#endif
  }
  return vector;
}

/// One vector to memory of any alignment, rounded to the storage type.
template <class T>
void store(T* target, const Vector<Accumulation<T>>& vector) {
  using A = Accumulation<T>;
  constexpr int lanes = k_lanes<A>;
  if constexpr (std::is_same_v<T, A>) {
    std::memcpy(static_cast<void*>(target), &vector, sizeof vector);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    using Bits = VectorOf<std::uint32_t, lanes>;
    Bits bits;
    std::memcpy(&bits, &vector, sizeof bits);
    const Bits rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const Bits quiet = (bits >> 16) | 0x40U;
    const Bits chosen = (bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded;
    const auto halves = __builtin_convertvector(chosen, VectorOf<std::uint16_t, lanes>);
    std::memcpy(static_cast<void*>(target), &halves, sizeof halves);
  } else {
#if defined(__AVX512F__)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target),
                        _mm512_maskz_cvtps_ph(k_all_lanes, (__m512)vector, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm256_cvtps_ph((__m256)vector, _MM_FROUND_TO_NEAREST_INT));
#else
    for (int lane = 0; lane < lanes; ++lane) target[lane] = narrow<T>(vector[lane]);
#endif
  }
}

/// The first `count` lanes from memory, the others zero.
template <class T>
Vector<Accumulation<T>> load_part(const T* source, std::int64_t count) {
  Vector<Accumulation<T>> vector{};
  for (int lane = 0; lane < count; ++lane) vector[lane] = widen(source[lane]);
  return vector;
}

/// Exchanges rows and columns of a square block of lanes × lanes elements held in vectors, in log2(lanes) rounds: in
/// each one, rows whose index differs in one bit swap the halves of every pair of groups.
template <class A>
struct Transposition {
  static constexpr int k_size = k_lanes<A>;

  static void run(Vector<A> (&rows)[k_size]) { round<1>(rows); }

 private:
  template <int Distance>
  static void round(Vector<A> (&rows)[k_size]) {
    if constexpr (Distance < k_size) {
      for (int i = 0; i < k_size; ++i) {
        if ((i & Distance) != 0) continue;
        const Vector<A> low = rows[i], high = rows[i + Distance];
        rows[i] = pick<Distance, 0>(low, high, std::make_integer_sequence<int, k_size>{});
        rows[i + Distance] = pick<Distance, Distance>(low, high, std::make_integer_sequence<int, k_size>{});
      }
      round<2 * Distance>(rows);
    }
  }

  template <int Distance, int Offset, int... Lane>
  static Vector<A> pick(const Vector<A>& low, const Vector<A>& high, std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(low, high,
                                   ((Lane & Distance) == 0 ? Lane + Offset : k_size + Lane - Distance + Offset)...);
  }
};

}  // namespace tessera::host
