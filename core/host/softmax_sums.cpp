// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The cross-entropy over a vocabulary of which each rank may hold a part: row_max gives the shift, softmax_sums the
// exponentials, their sum z and the target's logit t, both partial sums over the vocabulary.
#include "core/host/exponentials.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

/// Global index of the first column of this part.
std::int64_t vocabulary_start(const Tensor& logits) {
  return logits.start[static_cast<std::size_t>(logits.shape.rank() - 1)];
}

/// The target's column in this part, or -1.
std::int64_t local_column(std::int32_t target, const Tensor& logits) {
  const std::int64_t column = target - vocabulary_start(logits);
  return column >= 0 && column < width_of(logits) ? column : -1;
}

template <class T>
void row_max(const KernelCall& call) {
  using A = Accumulation<T>;
  const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
  const T* const x = call.in[0].as<const T>();
  A* const result = call.out[0].as<A>();
  parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) result[row] = largest_of(x + row * width, width);
  });
}

template <class T>
void softmax_sums(const KernelCall& call) {
  using A = Accumulation<T>;
  const Tensor& logits = call.in[0];
  const std::int64_t width = width_of(logits), rows = rows_of(logits);
  const A* const shift = call.in[1].as<const A>();
  const auto* const targets = call.in[2].as<const std::int32_t>();
  parallel_ranges(threads_of(call.stream), rows, 4 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const from = logits.as<const T>() + row * width;
      const std::int64_t column = local_column(targets[row], logits);
      const A target_logit = column < 0 ? A(0) : widen(from[column]);  // before it may be overwritten
      const A sum = exponentials(from, width, shift[row], offset(call.out[0].as<T>(), row * width));
      if (call.out[1].data != nullptr) call.out[1].as<A>()[row] = sum;
      if (call.out[2].data != nullptr) call.out[2].as<A>()[row] = target_logit;
    }
  });
}

template <class T>
void softmax_sums_grad(const KernelCall& call) {
  using A = Accumulation<T>;
  const Tensor& e = call.in[0];
  const std::int64_t width = width_of(e), rows = rows_of(e);
  const A *const dz = call.in[1].as<const A>(), *const dt = call.in[2].as<const A>();
  const auto* const targets = call.in[3].as<const std::int32_t>();
  parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const from = e.as<const T>() + row * width;
      T* const to = call.out[0].as<T>() + row * width;
      const std::int64_t column = local_column(targets[row], e);
      const A target_gradient = column < 0 ? A(0) : widen(from[column]) * dz[row] + dt[row];
      map(
          1, width, to, [factor = dz[row]](A v) { return v * factor; }, from);
      if (column >= 0) to[column] = narrow<T>(target_gradient);
    }
  });
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"row_max", dtype_of<T>, row_max<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"softmax_sums", dtype_of<T>, softmax_sums<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"softmax_sums_grad", dtype_of<T>, softmax_sums_grad<T>};
                                }));

}  // namespace

std::span<const KernelEntry> softmax_sums_kernels() {
  return k_entries;
}

}  // namespace tessera::host
