// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// rms_norm (Zhang and Sennrich 2019): y = x·rstd·g with rstd = 1/sqrt(mean(x²) + ε), and its gradient
// dx = rstd·(dy·g − x̂·mean(dy·g·x̂)), dg = Σ over rows of dy·x̂, where x̂ = x·rstd.
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

template <class T>
struct RmsNorm {
  using A = Accumulation<T>;

  static A sum_of_squares(const T* x, std::int64_t width) {
    Reader<T> reader;
    A sum = 0;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      sum += sum_over<A>(
          n, [](auto v) { return v * v; }, reader(x + at, n));
    }
    return sum;
  }

  static void forward_row(const T* x, const T* gain, std::int64_t width, A rstd, T* y) {
    map(
        1, width, y, [rstd](A value, A g) { return value * rstd * g; }, x, gain);
  }

  static void forward(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const A epsilon = A(call.attributes.as<attributes::Norm>().epsilon);
    const T* const x = call.in[0].as<const T>();
    parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const x_row = x + row * width;
        const A rstd = A(1) / std::sqrt(sum_of_squares(x_row, width) / A(std::max<std::int64_t>(1, width)) + epsilon);
        if (call.out[1].data != nullptr) call.out[1].as<A>()[row] = rstd;
        forward_row(x_row, call.in[1].as<const T>(), width, rstd, offset(call.out[0].as<T>(), row * width));
      }
    });
  }

  /// Σ dy·g·x
  static A projection(const T* dy, const T* x, const T* gain, std::int64_t width) {
    Reader<T> dy_reader, x_reader, gain_reader;
    A sum = 0;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      sum += sum_over<A>(
          n, [](auto d, auto v, auto g) { return d * g * v; }, dy_reader(dy + at, n), x_reader(x + at, n),
          gain_reader(gain + at, n));
    }
    return sum;
  }

  static void add_gain_gradient(const T* dy, const T* x, std::int64_t width, A rstd, A* sums) {
    Reader<T> dy_reader, x_reader;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      const A* const d = dy_reader(dy + at, n);
      const A* const v = x_reader(x + at, n);
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) sums[at + i] += d[i] * (v[i] * rstd);
    }
  }

  static void gradient(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const T *const dy = call.in[0].as<const T>(), *const x = call.in[1].as<const T>();
    const A* const rstd = call.in[2].as<const A>();
    const T* const gain = call.in[3].as<const T>();
    const std::array<ColumnSum<A>, 1> sums{ColumnSum<A>{call.out[1].as<A>(), call.accumulates(1)}};
    sum_rows(threads_of(call.stream), rows, width, call.workspace, sums,
             [&](std::int64_t row, const std::array<A*, 1>& partial) {
               const std::int64_t at = row * width;
               const A r = rstd[row];
               if (sums[0].target != nullptr) add_gain_gradient(dy + at, x + at, width, r, partial[0]);
               if (call.out[0].data == nullptr) return;
               const A shared = projection(dy + at, x + at, gain, width) * r * r * r / A(width);
               map(
                   1, width, call.out[0].as<T>() + at, [r, shared](A d, A v, A g) { return d * g * r - v * shared; },
                   dy + at, x + at, gain);
             });
  }

  static std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int) {
    return sum_rows_bytes<A>(rows_of(in[0]), width_of(in[0]), 1);
  }
};

constexpr auto k_entries =
    join(for_floating([]<class T>() {
           return KernelEntry{"rms_norm", dtype_of<T>, RmsNorm<T>::forward};
         }),
         for_floating([]<class T>() {
           return KernelEntry{"rms_norm_grad", dtype_of<T>, RmsNorm<T>::gradient, RmsNorm<T>::workspace, 2U};
         }));

}  // namespace

std::span<const KernelEntry> rms_norm_kernels() {
  return k_entries;
}

}  // namespace tessera::host
