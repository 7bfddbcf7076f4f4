// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/reduction.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "core/base/half.hpp"

namespace tessera {
namespace {

/// Elements that are summed at a time: the accumulator stays in the first-level cache.
constexpr std::int64_t k_block = 2048;

/// Integers are added without sign, where overflow is defined.
template <class T>
struct Accumulator {
  using Type = T;
};
template <>
struct Accumulator<std::int64_t> {
  using Type = std::uint64_t;
};
template <>
struct Accumulator<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct Accumulator<BFloat16> {
  using Type = float;
};
template <>
struct Accumulator<Float16> {
  using Type = float;
};

template <class T>
struct Sum {
  T operator()(T a, T b) const { return static_cast<T>(a + b); }
};

template <class T>
struct Max {
  using Compared = std::conditional_t<std::is_same_v<T, std::uint64_t>, std::int64_t,
                                      std::conditional_t<std::is_same_v<T, std::uint32_t>, std::int32_t, T>>;
  T operator()(T a, T b) const { return (static_cast<Compared>(a) > static_cast<Compared>(b)) | (a != a) ? a : b; }
};

template <class T, template <class> class Combine>
void reduce_blocks(std::span<const void* const> inputs, std::int64_t input_first, std::span<void* const> outputs,
                   std::int64_t output_first, std::int64_t count) {
  using A = typename Accumulator<T>::Type;
  const Combine<A> combine;
  std::array<A, k_block> sum;
  std::array<T, k_block> rounded;
  for (std::int64_t first = 0; first < count; first += k_block) {
    const auto n = static_cast<std::size_t>(std::min(k_block, count - first));
    const auto input = [&](const void* data) { return static_cast<const T*>(data) + input_first + first; };
    const T* in = input(inputs.front());
    for (std::size_t e = 0; e < n; ++e) {
      sum[e] = static_cast<A>(in[e]);
    }
    for (const void* other : inputs.subspan(1)) {
      in = input(other);
      for (std::size_t e = 0; e < n; ++e) {
        sum[e] = combine(sum[e], static_cast<A>(in[e]));
      }
    }
    for (std::size_t e = 0; e < n; ++e) {
      rounded[e] = static_cast<T>(sum[e]);
    }
    for (void* out : outputs) {
      std::memcpy(static_cast<T*>(out) + output_first + first, rounded.data(), n * sizeof(T));
    }
  }
}

template <class T>
constexpr auto k_reductions = std::array{reduce_blocks<T, Sum>, reduce_blocks<T, Max>};

// In the order of DType and ReduceOp.
constexpr std::array k_table{k_reductions<double>,        k_reductions<float>,        k_reductions<BFloat16>,
                             k_reductions<Float16>,       k_reductions<std::int64_t>, k_reductions<std::int32_t>,
                             k_reductions<std::uint16_t>, k_reductions<std::uint8_t>};

}  // namespace

void reduce_in_order(std::span<const void* const> inputs, std::int64_t input_first, std::span<void* const> outputs,
                     std::int64_t output_first, std::int64_t count, DType dtype, ReduceOp op) {
  k_table[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op)](inputs, input_first, outputs, output_first,
                                                                         count);
}

}  // namespace tessera
