// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// rope: rotary position embedding (Su et al. 2021) on halves: (a, c) → (a·cos − c·sin, c·cos + a·sin) with angle
// sign·position·theta^(−2j/d). Angles, sines and cosines in double, once per token for all heads.
#include <fmt/core.h>

#include <cmath>

#include "core/base/error.hpp"
#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/math.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

template <class T>
struct Rope {
  using A = Accumulation<T>;

  struct Turns {
    alignas(64) A cosine[k_chunk], sine[k_chunk];
  };

  static void turns_of(const double* frequency, double position, std::int64_t count, Turns& turns) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      const SineCosine<double> turn = sine_cosine(position * frequency[j]);
      turns.cosine[j] = static_cast<A>(turn.cosine);
      turns.sine[j] = static_cast<A>(turn.sine);
    }
  }

  /// `count` pairs (first[j], second[j]) of one head.
  static void rotate(const T* first, const T* second, const Turns& turns, std::int64_t count, T* first_out,
                     T* second_out) {
    Reader<T> first_reader, second_reader;
    Writer<T> first_writer, second_writer;
    const A *const a = first_reader(first, count), *const c = second_reader(second, count);
    A *const a_out = first_writer(first_out), *const c_out = second_writer(second_out);
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      const A before = a[j], after = c[j];
      a_out[j] = before * turns.cosine[j] - after * turns.sine[j];
      c_out[j] = after * turns.cosine[j] + before * turns.sine[j];
    }
    first_writer.flush(first_out, count);
    second_writer.flush(second_out, count);
  }

  static void launch(const KernelCall& call) {
    const Shape& shape = call.in[0].shape;
    const std::int64_t heads = shape[2], head_dim = shape[3], half = head_dim / 2;
    TESSERA_CHECK(head_dim % 2 == 0, fmt::format("rope rotates pairs, the head dim is {}", head_dim));
    const auto rope = call.attributes.as<attributes::Rope>();
    auto* const frequency = reinterpret_cast<double*>(call.workspace.data());
    for (std::int64_t j = 0; j < half; ++j)
      frequency[j] = std::pow(rope.theta, -2.0 * static_cast<double>(j) / static_cast<double>(head_dim));
    const auto* const position = call.in[1].as<const std::int32_t>();
    const std::int64_t width = heads * head_dim;
    parallel_ranges(threads_of(call.stream), call.in[1].count(), 4 * width, [&](std::int64_t begin, std::int64_t end) {
      Turns turns;
      for (std::int64_t token = begin; token < end; ++token)
        for (std::int64_t at = 0; at < half; at += k_chunk) {
          const std::int64_t n = std::min(k_chunk, half - at);
          turns_of(frequency + at, rope.sign * position[token], n, turns);
          for (std::int64_t head = 0; head < heads; ++head) {
            const std::int64_t place = token * width + head * head_dim + at;
            const T* const from = call.in[0].as<const T>() + place;
            T* const to = call.out[0].as<T>() + place;
            rotate(from, from + half, turns, n, to, to + half);
          }
        }
    });
  }

  static std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int) {
    return in[0].shape[3] / 2 * std::int64_t(sizeof(double));
  }
};

constexpr auto k_entries = for_floating([]<class T>() {
  return KernelEntry{"rope", dtype_of<T>, Rope<T>::launch, Rope<T>::workspace};
});

}  // namespace

std::span<const KernelEntry> rope_kernels() {
  return k_entries;
}

}  // namespace tessera::host
