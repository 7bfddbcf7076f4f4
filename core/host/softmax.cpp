// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The scores of a router: softmax over the last dim, and the sigmoid, with their gradients from the scores themselves.
#include "core/host/exponentials.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

template <class T>
struct Softmax {
  using A = Accumulation<T>;

  static void forward(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const T* const x = call.in[0].as<const T>();
    A* const y = call.out[0].as<A>();
    parallel_ranges(threads_of(call.stream), rows, 4 * width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const from = x + row * width;
        A* const to = y + row * width;
        const A sum = exponentials(from, width, largest_of(from, width), to);
        map(
            1, width, to, [sum](A e) { return e / sum; }, static_cast<const A*>(to));
      }
    });
  }

  /// y·(dy − Σ dy·y)
  static void gradient(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const T *const dy = call.in[0].as<const T>(), *const y = call.in[1].as<const T>();
    parallel_ranges(threads_of(call.stream), rows, 2 * width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T *const gradients = dy + row * width, *const scores = y + row * width;
        const A mean = sum_of_products(gradients, scores, width);
        map(
            1, width, call.out[0].as<T>() + row * width, [mean](A d, A s) { return s * (d - mean); }, gradients,
            scores);
      }
    });
  }
};

template <class T>
void sigmoid_scores(const KernelCall& call) {
  using A = Accumulation<T>;
  map(
      threads_of(call.stream), call.in[0].count(), call.out[0].as<A>(), [](A x) { return sigmoid(x); },
      call.in[0].as<const T>());
}

template <class T>
void sigmoid_grad(const KernelCall& call) {
  using A = Accumulation<T>;
  map(
      threads_of(call.stream), call.in[0].count(), call.out[0].as<T>(), [](A dy, A y) { return dy * y * (A(1) - y); },
      call.in[0].as<const T>(), call.in[1].as<const T>());
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"softmax", dtype_of<T>, Softmax<T>::forward};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"softmax_grad", dtype_of<T>, Softmax<T>::gradient};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"sigmoid", dtype_of<T>, sigmoid_scores<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"sigmoid_grad", dtype_of<T>, sigmoid_grad<T>};
                                }));

}  // namespace

std::span<const KernelEntry> softmax_kernels() {
  return k_entries;
}

}  // namespace tessera::host
