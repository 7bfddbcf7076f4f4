// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// layer_norm (Ba, Kiros and Hinton 2016): y = x̂·g + c with x̂ = (x − mean)·rstd and the biased variance, and its
// gradient dx = rstd·(dy·g − mean(dy·g) − x̂·mean(dy·g·x̂)), dg = Σ over rows of dy·x̂, dc = Σ over rows of dy.
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

template <class T>
struct LayerNorm {
  using A = Accumulation<T>;

  struct Moments {
    A mean, rstd;
  };

  /// Two passes: the mean first, then squares of differences from it, which cancel no digits.
  static Moments moments(const T* x, std::int64_t width, A epsilon) {
    Reader<T> reader;
    A sum = 0, squares = 0;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      sum += sum_over<A>(
          n, [](auto v) { return v; }, reader(x + at, n));
    }
    const A count = A(std::max<std::int64_t>(1, width)), mean = sum / count;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      const A* const values = reader(x + at, n);
      alignas(64) A centred[k_chunk];
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) centred[i] = values[i] - mean;
      squares += sum_over<A>(
          n, [](auto v) { return v * v; }, static_cast<const A*>(centred));
    }
    return {mean, A(1) / std::sqrt(squares / count + epsilon)};
  }

  static void forward(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const A epsilon = A(call.attributes.as<attributes::Norm>().epsilon);
    const T* const x = call.in[0].as<const T>();
    parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto [mean, rstd] = moments(x + row * width, width, epsilon);
        if (call.out[1].data != nullptr) call.out[1].as<A>()[row] = mean;
        if (call.out[2].data != nullptr) call.out[2].as<A>()[row] = rstd;
        map(
            1, width, offset(call.out[0].as<T>(), row * width),
            [mean = mean, rstd = rstd](A v, A g, A c) { return (v - mean) * rstd * g + c; }, x + row * width,
            call.in[1].as<const T>(), call.in[2].as<const T>());
      }
    });
  }

  struct Projections {
    A plain = 0, centred = 0;  ///< Σ dy·g and Σ dy·g·x̂
  };

  static Projections projections(const T* dy, const T* x, const T* gain, std::int64_t width, Moments m) {
    Reader<T> dy_reader, x_reader, gain_reader;
    Projections sums;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      const A* const d = dy_reader(dy + at, n);
      const A* const g = gain_reader(gain + at, n);
      const A* const v = x_reader(x + at, n);
      alignas(64) A normal[k_chunk];
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) normal[i] = (v[i] - m.mean) * m.rstd;
      sums.plain += sum_over<A>(
          n, [](auto a, auto b) { return a * b; }, d, g);
      sums.centred += sum_over<A>(
          n, [](auto a, auto b, auto c) { return a * b * c; }, d, g, static_cast<const A*>(normal));
    }
    return sums;
  }

  static void add_parameter_gradients(const T* dy, const T* x, std::int64_t width, Moments m, A* gain_sums,
                                      A* bias_sums) {
    Reader<T> dy_reader, x_reader;
    for (std::int64_t at = 0; at < width; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, width - at);
      const A* const d = dy_reader(dy + at, n);
      const A* const v = x_reader(x + at, n);
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        gain_sums[at + i] += d[i] * ((v[i] - m.mean) * m.rstd);
        bias_sums[at + i] += d[i];
      }
    }
  }

  static void gradient(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const T *const dy = call.in[0].as<const T>(), *const x = call.in[1].as<const T>();
    const A *const means = call.in[2].as<const A>(), *const rstds = call.in[3].as<const A>();
    const T* const gain = call.in[4].as<const T>();
    const std::array<ColumnSum<A>, 2> sums{ColumnSum<A>{call.out[1].as<A>(), call.accumulates(1)},
                                           ColumnSum<A>{call.out[2].as<A>(), call.accumulates(2)}};
    const bool parameters = sums[0].target != nullptr || sums[1].target != nullptr;
    sum_rows(threads_of(call.stream), rows, width, call.workspace, sums,
             [&](std::int64_t row, const std::array<A*, 2>& partial) {
               const std::int64_t at = row * width;
               const Moments m{means[row], rstds[row]};
               if (parameters) add_parameter_gradients(dy + at, x + at, width, m, partial[0], partial[1]);
               if (call.out[0].data == nullptr) return;
               const Projections shared = projections(dy + at, x + at, gain, width, m);
               const A plain = shared.plain / A(width), centred = shared.centred / A(width);
               map(
                   1, width, call.out[0].as<T>() + at,
                   [=](A d, A v, A g) { return m.rstd * (d * g - plain - (v - m.mean) * m.rstd * centred); }, dy + at,
                   x + at, gain);
             });
  }

  static std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int) {
    return sum_rows_bytes<A>(rows_of(in[0]), width_of(in[0]), 2);
  }
};

constexpr auto k_entries =
    join(for_floating([]<class T>() {
           return KernelEntry{"layer_norm", dtype_of<T>, LayerNorm<T>::forward};
         }),
         for_floating([]<class T>() {
           return KernelEntry{"layer_norm_grad", dtype_of<T>, LayerNorm<T>::gradient, LayerNorm<T>::workspace, 6U};
         }));

}  // namespace

std::span<const KernelEntry> layer_norm_kernels() {
  return k_entries;
}

}  // namespace tessera::host
