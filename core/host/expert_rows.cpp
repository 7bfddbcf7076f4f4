// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of experts, of the rank's own tokens: where they lie (expert_plan), the ways of rows and gates there and back,
// and the product of rows with their gates.
#include <algorithm>
#include <numeric>

#include "core/base/op_attributes.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

constexpr std::int32_t k_empty = -1;

/// Every thread has experts of its own and looks through all choices.
void expert_plan(const KernelCall& call) {
  const std::int64_t choices = call.in[0].count(), experts = call.out[0].shape[0], capacity = call.out[0].shape[2];
  const std::int64_t first = call.round * capacity;
  const auto* const choice = call.in[0].as<const std::int32_t>();
  auto *const index = call.out[0].as<std::int32_t>(), *const counts = call.out[1].as<std::int32_t>(),
              *const further = call.out[2].as<std::int32_t>();
  auto* const seen = reinterpret_cast<std::int64_t*>(call.workspace.data());  // rows of an expert so far, of any round
  const std::int64_t parts = std::min<std::int64_t>(threads_of(call.stream), experts);
  parallel_parts(threads_of(call.stream), parts, [&](std::int64_t part, int) {
    const std::int64_t begin = experts * part / parts, end = experts * (part + 1) / parts;
    std::fill(seen + begin, seen + end, 0);
    if (index != nullptr) std::fill(index + begin * capacity, index + end * capacity, k_empty);
    for (std::int64_t i = 0; i < choices; ++i) {
      const std::int64_t expert = choice[i];
      if (expert < begin || expert >= end) continue;
      const std::int64_t row = seen[expert]++ - first;
      if (index != nullptr && row >= 0 && row < capacity) index[expert * capacity + row] = static_cast<std::int32_t>(i);
    }
    for (std::int64_t expert = begin; expert < end; ++expert) {
      if (counts != nullptr)
        counts[expert] = static_cast<std::int32_t>(std::clamp<std::int64_t>(seen[expert] - first, 0, capacity));
      if (further != nullptr)
        further[expert] = seen[expert] == 0 ? 0 : static_cast<std::int32_t>((seen[expert] - 1) / capacity);
    }
  });
}

std::int64_t plan_workspace(std::span<const Tensor>, std::span<const Tensor> out, const Attributes&, int) {
  return out[0].shape[0] * std::int64_t(sizeof(std::int64_t));
}

void expert_rounds(const KernelCall& call) {
  const auto* const further = call.in[0].as<const std::int32_t>();
  *call.out[0].as<std::int32_t>() = std::accumulate(further, further + call.in[0].count(), std::int32_t{0},
                                                    [](std::int32_t a, std::int32_t b) { return std::max(a, b); });
}

/// Calls body(row, place) for the rows of an index; place is -1 where the row is empty.
template <class Body>
void for_rows(const KernelCall& call, const Tensor& index, std::int64_t elements, const Body& body) {
  const auto* const places = index.as<const std::int32_t>();
  parallel_ranges(threads_of(call.stream), index.count(), elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row, places[row]);
  });
}

template <class T>
void take_rows(const KernelCall& call) {
  const std::int64_t width = width_of(call.in[0]), k = width_of(call.in[2]);
  const T* const x = call.in[0].as<const T>();
  T* const rows = call.out[0].as<T>();
  for_rows(call, call.in[1], width, [&](std::int64_t row, std::int64_t place) {
    if (place == k_empty)
      std::fill_n(rows + row * width, width, narrow<T>(0));
    else
      std::copy_n(x + place / k * width, width, rows + row * width);
  });
}

/// Which row each choice of each token went to, or -1.
void invert(const KernelCall& call, const Tensor& index, std::int64_t choices, std::int64_t* row_of) {
  const int threads = threads_of(call.stream);
  parallel_ranges(threads, choices, 1,
                  [&](std::int64_t begin, std::int64_t end) { std::fill(row_of + begin, row_of + end, k_empty); });
  for_rows(call, index, 1, [&](std::int64_t row, std::int64_t place) {
    if (place != k_empty) row_of[place] = row;
  });
}

/// A token's rows are added in the order of its choices, wherever they lie, and rounded once.
template <class T>
void put_rows(const KernelCall& call) {
  using A = Accumulation<T>;
  const std::int64_t width = width_of(call.in[0]), k = width_of(call.in[2]), tokens = rows_of(call.in[2]);
  const T* const rows = call.in[0].as<const T>();
  auto* const row_of = reinterpret_cast<std::int64_t*>(call.workspace.data());
  invert(call, call.in[1], tokens * k, row_of);
  parallel_ranges(threads_of(call.stream), tokens, width * k, [&](std::int64_t begin, std::int64_t end) {
    Reader<T> reader;
    Writer<T> writer;
    for (std::int64_t token = begin; token < end; ++token)
      for (std::int64_t at = 0; at < width; at += k_chunk) {
        const std::int64_t n = std::min(k_chunk, width - at);
        T* const target = call.out[0].as<T>() + token * width + at;
        A* const sum = writer(target);
        std::fill_n(sum, n, A(0));
        for (std::int64_t i = token * k; i < (token + 1) * k; ++i) {
          if (row_of[i] == k_empty) continue;
          const A* const row = reader(rows + row_of[i] * width + at, n);
#pragma omp simd
          for (std::int64_t j = 0; j < n; ++j) sum[j] += row[j];
        }
        writer.flush(target, n);
      }
  });
}

std::int64_t put_workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int) {
  return in[2].count() * std::int64_t(sizeof(std::int64_t));
}

template <class T>
void take_gates(const KernelCall& call) {
  const T* const weights = call.in[0].as<const T>();
  T* const gates = call.out[0].as<T>();
  for_rows(call, call.in[1], 1, [&](std::int64_t row, std::int64_t place) {
    gates[row] = place == k_empty ? narrow<T>(0) : weights[place];
  });
}

template <class T>
void put_gates(const KernelCall& call) {
  const T* const d = call.in[0].as<const T>();
  T* const weights = call.out[0].as<T>();
  parallel_ranges(threads_of(call.stream), call.out[0].count(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::fill(weights + begin, weights + end, narrow<T>(0));
  });
  for_rows(call, call.in[1], 1, [&](std::int64_t row, std::int64_t place) {
    if (place != k_empty) weights[place] = d[row];
  });
}

/// Gates are kept in the accumulation type.
template <class T>
void row_scale(const KernelCall& call) {
  using A = Accumulation<T>;
  const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
  const A* const gates = call.in[1].as<const A>();
  parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      map(
          1, width, call.out[0].as<T>() + row * width, [gate = gates[row]](A x) { return gate * x; },
          call.in[0].as<const T>() + row * width);
  });
}

template <class T>
void row_dot(const KernelCall& call) {
  const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]);
  auto* const dots = call.out[0].as<Accumulation<T>>();
  parallel_ranges(threads_of(call.stream), rows, 2 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      dots[row] =
          sum_of_products(call.in[0].as<const T>() + row * width, call.in[1].as<const T>() + row * width, width);
  });
}

constexpr auto k_entries = join(std::array{KernelEntry{"expert_plan", DType::i64, expert_plan, plan_workspace},
                                           KernelEntry{"expert_rounds", DType::i64, expert_rounds}},
                                for_floating([]<class T>() {
                                  return KernelEntry{"take_rows", dtype_of<T>, take_rows<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"put_rows", dtype_of<T>, put_rows<T>, put_workspace};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"take_gates", dtype_of<T>, take_gates<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"put_gates", dtype_of<T>, put_gates<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"row_scale", dtype_of<T>, row_scale<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"row_dot", dtype_of<T>, row_dot<T>};
                                }));

}  // namespace

std::span<const KernelEntry> expert_rows_kernels() {
  return k_entries;
}

}  // namespace tessera::host
