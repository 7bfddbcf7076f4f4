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

/// Elements are summed by lines of the cache, and each line is written right after it is read: where an output is
/// another processor's input, the line then comes over once, to be written, instead of once to be read and again to be
/// written. Blocks of some kilobytes take 1.5 to 2 times as long.
constexpr std::int64_t k_line_bytes = 64;

/// 16-bit elements that are summed at a time. A line of them is too few for the compiler to see vectors.
constexpr std::int64_t k_half_block = 512;

template <class T>
constexpr bool k_is_half = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

/// What elements are combined in. Integers are added without sign, where overflow is defined.
template <class T>
struct Summand {
  using Type = T;
};
template <>
struct Summand<std::int64_t> {
  using Type = std::uint64_t;
};
template <>
struct Summand<std::int32_t> {
  using Type = std::uint32_t;
};

// Of numbers, and of vectors of them; by reference, because a line may be wider than a register, and how such a value
// is passed depends on the processor.
template <class T>
struct Sum {
  using Element = std::conditional_t<k_is_half<T>, float, typename Summand<T>::Type>;
  template <class V>
  static void combine(V& a, const V& b) {
    a = static_cast<V>(a + b);
  }
};
template <class T>
struct Max {
  using Element = std::conditional_t<k_is_half<T>, float, T>;
  template <class V>
  static void combine(V& a, const V& b) {
    a = (a > b) | (a != a) ? a : b;
  }
};

using Inputs = std::span<const void* const>;
using Outputs = std::span<void* const>;

/// `V`: one element, or a line of them.
template <class V, class Op>
void reduce_one(Inputs inputs, std::int64_t input_byte, Outputs outputs, std::int64_t output_byte) {
  const auto load = [&](V& value, const void* data) {
    std::memcpy(&value, static_cast<const std::byte*>(data) + input_byte, sizeof value);
  };
  V result, other;
  load(result, inputs.front());
  for (const void* data : inputs.subspan(1)) {
    load(other, data);
    Op::combine(result, other);
  }
  for (void* out : outputs) {
    std::memcpy(static_cast<std::byte*>(out) + output_byte, &result, sizeof result);
  }
}

/// As many bytes of elements of 16 bits as `count` says, at most a block.
template <class T, class Op>
void reduce_halves(Inputs inputs, std::int64_t input_first, Outputs outputs, std::int64_t output_first,
                   std::size_t count) {
  std::array<float, k_half_block> result;
  std::array<T, k_half_block> rounded;
  const auto input = [&](const void* data) { return static_cast<const T*>(data) + input_first; };
  const T* in = input(inputs.front());
  for (std::size_t e = 0; e < count; ++e) {
    result[e] = static_cast<float>(in[e]);
  }
  for (const void* other : inputs.subspan(1)) {
    in = input(other);
    for (std::size_t e = 0; e < count; ++e) {
      Op::combine(result[e], static_cast<float>(in[e]));
    }
  }
  for (std::size_t e = 0; e < count; ++e) {
    rounded[e] = static_cast<T>(result[e]);
  }
  for (void* out : outputs) {
    std::memcpy(static_cast<T*>(out) + output_first, rounded.data(), count * sizeof(T));
  }
}

template <class T, template <class> class Operation>
void reduce(Inputs inputs, std::int64_t input_first, Outputs outputs, std::int64_t output_first, std::int64_t count) {
  using Op = Operation<T>;
  if constexpr (k_is_half<T>) {
    for (std::int64_t e = 0; e < count; e += k_half_block) {
      reduce_halves<T, Op>(inputs, input_first + e, outputs, output_first + e,
                           static_cast<std::size_t>(std::min(k_half_block, count - e)));
    }
  } else {
    using Element = typename Op::Element;
    typedef Element Line __attribute__((vector_size(k_line_bytes)));
    constexpr std::int64_t size = sizeof(Element);
    const std::int64_t in = input_first * size, out = output_first * size, bytes = count * size;
    std::int64_t byte = 0;
    for (; byte + k_line_bytes <= bytes; byte += k_line_bytes) {
      reduce_one<Line, Op>(inputs, in + byte, outputs, out + byte);
    }
    for (; byte < bytes; byte += size) {
      reduce_one<Element, Op>(inputs, in + byte, outputs, out + byte);
    }
  }
}

template <class T>
constexpr auto k_reductions = std::array{reduce<T, Sum>, reduce<T, Max>};

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
