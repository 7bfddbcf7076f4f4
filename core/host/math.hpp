// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  elementary functions that compilers vectorise: no branches, no tables, no calls.
// Used: kernels of the host.
// Must not know: storage types, shapes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::host {

/// e^x = fraction · 2^n, n rounded.
struct FloatPower {
  float fraction;
  std::uint32_t n;  ///< in the low bits
};

/// Range reduction by multiples of ln 2 in two parts (Cody and Waite 1980), then a polynomial of degree 6 fitted at
/// Chebyshev nodes.
inline FloatPower reduce_exponential(float x) {
  constexpr float magic = 12582912.0F;  // 1.5·2^23: adding it rounds to an integer, kept in the low bits
  const float shifted = x * 1.44269504F + magic;
  const float n = shifted - magic;
  const float r = x - n * 0.693145752F - n * 1.42860677e-6F;
  float q = 1.3926325617724046e-3F;
  q = q * r + 8.363292753030051e-3F;
  q = q * r + 4.166655376257185e-2F;
  q = q * r + 1.6666576305560635e-1F;
  q = q * r + 0.5F;
  return {1.0F + (r + r * r * q), std::bit_cast<std::uint32_t>(shifted)};
}

/// e^x with relative error below 2e-7. 0 below -86.6, infinity above 88.7; NaN stays NaN.
inline float exponential(float x) {
  const FloatPower power = reduce_exponential(x);
  // 2^(n-1) and a doubling: n may be 128, whose power is no float.
  const float y = power.fraction * std::bit_cast<float>((power.n << 23) + (126U << 23)) * 2.0F;
  const float low = x < -86.6F ? 0.0F : y;
  return x > 88.7228F ? std::numeric_limits<float>::infinity() : low;
}

/// The same for x <= 0 or NaN, where there is no infinity to care for.
inline float exponential_of_negative(float x) {
  const FloatPower power = reduce_exponential(x);
  return x < -86.6F ? 0.0F : power.fraction * std::bit_cast<float>((power.n << 23) + (127U << 23));
}

/// The same in double, relative error below 1e-15; 0 below -708, infinity above 709.7.
inline double exponential(double x) {
  constexpr double magic = 6755399441055744.0;  // 1.5·2^52
  const double shifted = x * 1.4426950408889634 + magic;
  const double n = shifted - magic;
  const double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
  double q = 1.0 / 6227020800.0;
  q = q * r + 1.0 / 479001600.0;
  q = q * r + 1.0 / 39916800.0;
  q = q * r + 1.0 / 3628800.0;
  q = q * r + 1.0 / 362880.0;
  q = q * r + 1.0 / 40320.0;
  q = q * r + 1.0 / 5040.0;
  q = q * r + 1.0 / 720.0;
  q = q * r + 1.0 / 120.0;
  q = q * r + 1.0 / 24.0;
  q = q * r + 1.0 / 6.0;
  q = q * r + 0.5;
  const double p = 1.0 + (r + r * r * q);
  const std::uint64_t half_power = (std::bit_cast<std::uint64_t>(shifted) << 52) + (1022ULL << 52);
  const double y = p * std::bit_cast<double>(half_power) * 2.0;
  const double low = x < -708.0 ? 0.0 : y;
  return x > 709.782 ? std::numeric_limits<double>::infinity() : low;
}

inline double exponential_of_negative(double x) {
  return exponential(x);
}

/// ln x of a finite normal x > 0, relative error below 1e-15: x = 2^k (1 + f) with 1 + f between √½ and √2, and the
/// polynomial of fdlibm (Sun Microsystems 1993) in f ÷ (2 + f).
inline double logarithm(double x) {
  constexpr std::uint64_t root_of_half = 0x3fe6a09e667f3bcdU, one = 0x3ff0000000000000U;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (one - root_of_half);
  const double k = static_cast<double>(static_cast<std::int64_t>(shifted >> 52) - 1023);
  const double f = std::bit_cast<double>((shifted & 0x000fffffffffffffU) + root_of_half) - 1.0;
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double r = 1.479819860511658591e-01;
  r = r * z + 1.531383769920937332e-01;
  r = r * z + 1.818357216161805012e-01;
  r = r * z + 2.222219843214978396e-01;
  r = r * z + 2.857142874366239149e-01;
  r = r * z + 3.999999999940941908e-01;
  r = r * z + 6.666666666666735130e-01;
  return k * 6.93147180369123816490e-01 - ((half - (s * (half + z * r) + k * 1.90821492927058770002e-10)) - f);
}

template <class A>
struct SineCosine {
  A sine, cosine;
};

/// Absolute error below 2e-16 for |x| < 1e6. Reduction by multiples of π/2 in three parts; the polynomials are those of
/// fdlibm (Sun Microsystems 1993), of least error on |x| <= π/4.
inline SineCosine<double> sine_cosine(double x) {
  constexpr double magic = 6755399441055744.0;  // 1.5·2^52
  const double shifted = x * 0.63661977236758134308 + magic;
  const double n = shifted - magic;
  const double r = ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  const double z = r * r;
  double s = 1.58969099521155010221e-10;
  s = s * z - 2.50507602534068634195e-08;
  s = s * z + 2.75573137070700676789e-06;
  s = s * z - 1.98412698298579493134e-04;
  s = s * z + 8.33333333332248946124e-03;
  s = s * z - 1.66666666666666324348e-01;
  const double sine = r + r * z * s;
  double c = -1.13596475577881948265e-11;
  c = c * z + 2.08757232129817482790e-09;
  c = c * z - 2.75573143513906633035e-07;
  c = c * z + 2.48015872894767294178e-05;
  c = c * z - 1.38888888888741095749e-03;
  c = c * z + 4.16666666666666019037e-02;
  const double cosine = (1.0 - 0.5 * z) + z * z * c;
  const std::uint64_t quadrant = std::bit_cast<std::uint64_t>(shifted);
  const bool odd = (quadrant & 1) != 0;
  const double first = odd ? cosine : sine, second = odd ? sine : cosine;
  return {(quadrant & 2) != 0 ? -first : first, ((quadrant + 1) & 2) != 0 ? -second : second};
}

/// 1 / (1 + e^-x).
template <class A>
inline A sigmoid(A x) {
  return A(1) / (A(1) + exponential(-x));
}

/// The normal distribution Φ(x) and its density φ(x).
template <class A>
struct Normal {
  A distribution, density;
};

/// Absolute error of Φ below 3e-7 (Abramowitz and Stegun 7.1.26); relative in the left tail too.
inline Normal<float> standard_normal(float x) {
  const float magnitude = std::fabs(x) * 0.707106781F;
  const float t = 1.0F / (1.0F + 0.3275911F * magnitude);
  const float bell = exponential(-magnitude * magnitude);
  float q = 1.061405429F;
  q = q * t - 1.453152027F;
  q = q * t + 1.421413741F;
  q = q * t - 0.284496736F;
  q = q * t + 0.254829592F;
  const float tail = 0.5F * q * t * bell;
  return {x < 0 ? tail : 1.0F - tail, 0.398942280F * bell};
}

inline Normal<double> standard_normal(double x) {
  return {0.5 * std::erfc(-x * 0.70710678118654752440), 0.39894228040143267794 * exponential(-0.5 * x * x)};
}

}  // namespace tessera::host
