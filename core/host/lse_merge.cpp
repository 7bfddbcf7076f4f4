// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// lse_merge: w1 = e^(lse1 − lse), w2 = e^(lse2 − lse) with lse = log(e^lse1 + e^lse2); o = w1·o1 + w2·o2. Its gradient:
// do1 = w1·do, dlse1 = w1·(dlse + Σ do·(o1 − o)), and the same for the other.
#include <cmath>
#include <limits>

#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// Inputs of the gradient.
enum Input : std::size_t { k_do, k_dlse, k_o1, k_lse1, k_o2, k_lse2, k_o, k_lse };

template <class T>
struct LseMerge {
  using A = Accumulation<T>;

  static constexpr A k_nothing = -std::numeric_limits<A>::infinity();

  /// e^(part − whole); 0 where the part, and perhaps the whole, saw nothing.
  static A weight(A part, A whole) { return part == k_nothing ? A(0) : std::exp(part - whole); }

  static A merged(A first, A second) {
    const A largest = std::max(first, second);
    if (largest == k_nothing) return k_nothing;
    return largest + std::log(std::exp(first - largest) + std::exp(second - largest));
  }

  static void forward(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const A *const first = call.in[1].as<const A>(), *const second = call.in[3].as<const A>();
    const T *const o_first = call.in[0].as<const T>(), *const o_second = call.in[2].as<const T>();
    parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const A lse = merged(first[row], second[row]);
        const A w1 = weight(first[row], lse), w2 = weight(second[row], lse);
        if (call.out[1].data != nullptr) call.out[1].as<A>()[row] = lse;
        map(
            1, width, offset(call.out[0].as<T>(), row * width), [w1, w2](A a, A b) { return w1 * a + w2 * b; },
            o_first + row * width, o_second + row * width);
      }
    });
  }

  /// Σ do·(part − o)
  static A projection(const T* gradient, const T* part, const T* o, std::int64_t width) {
    Reader<T> gradient_reader, part_reader, o_reader;
    A sum = 0;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      sum += sum_over<A>(
          n, [](auto g, auto p, auto whole) { return g * (p - whole); }, gradient_reader(gradient + at, n),
          part_reader(part + at, n), o_reader(o + at, n));
    }
    return sum;
  }

  /// The gradients of one of the two, in outputs `output` and `output` + 1.
  static void gradient_row(const KernelCall& call, std::size_t part, std::size_t output, std::int64_t row) {
    const std::int64_t width = width_of(call.in[k_do]), at = row * width;
    const A w = weight(call.in[part + 1].as<const A>()[row], call.in[k_lse].as<const A>()[row]);
    const T* const gradient = call.in[k_do].as<const T>() + at;
    map(
        1, width, offset(call.out[output].as<T>(), at), [w](A g) { return w * g; }, gradient);
    if (call.out[output + 1].data == nullptr) return;
    const A* const from_lse = call.in[k_dlse].as<const A>();
    const A sum = projection(gradient, call.in[part].as<const T>() + at, call.in[k_o].as<const T>() + at, width);
    call.out[output + 1].as<A>()[row] = w * (sum + (from_lse == nullptr ? A(0) : from_lse[row]));
  }

  static void gradient(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[k_do]), rows = rows_of(call.in[k_do]);
    parallel_ranges(threads_of(call.stream), rows, 2 * width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        gradient_row(call, k_o1, 0, row);
        gradient_row(call, k_o2, 2, row);
      }
    });
  }
};

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"lse_merge", dtype_of<T>, LseMerge<T>::forward};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"lse_merge_grad", dtype_of<T>, LseMerge<T>::gradient};
                                }));

}  // namespace

std::span<const KernelEntry> lse_merge_kernels() {
  return k_entries;
}

}  // namespace tessera::host
