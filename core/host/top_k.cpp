// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The choice of experts: the k best scores of a row (DeepSeek-AI 2024 for groups), the scores of the chosen, and their
// share of the sum.
#include <algorithm>

#include "core/base/op_attributes.hpp"
#include "core/host/choices.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// One row's choice. Comparisons are false for NaN, so that any scores give k different experts.
template <class T>
class Choice {
 public:
  using A = Accumulation<T>;

  Choice(const Tensor& scores, const Tensor& bias, const attributes::TopK& rule)
      : width_(width_of(scores)), rule_(rule), group_(width_ / rule.groups), bias_(bias.as<const A>()) {}

  /// Writes the k best, in order; ties to the lower index.
  void best(const T* scores, std::int32_t* chosen) {
    scores_ = scores;
    std::int64_t count = 0;
    for (std::int64_t group = 0; group < rule_.groups; ++group) {
      if (!allowed(group)) continue;
      for (std::int64_t expert = group * group_; expert < (group + 1) * group_; ++expert)
        insert(static_cast<std::int32_t>(expert), chosen, count);
    }
  }

 private:
  A score(std::int64_t expert) const {
    const A own = widen(scores_[expert]);
    return bias_ == nullptr ? own : own + bias_[expert];
  }

  /// The sum of a group's two best.
  A group_score(std::int64_t group) const {
    const std::int64_t first = group * group_;
    if (group_ == 1) return score(first);
    A best = std::max(score(first), score(first + 1)), second = std::min(score(first), score(first + 1));
    for (std::int64_t expert = first + 2; expert < first + group_; ++expert) {
      const A s = score(expert);
      second = std::max(second, std::min(best, s));
      best = std::max(best, s);
    }
    return best + second;
  }

  /// Whether fewer than group_k groups stand before this one.
  bool allowed(std::int64_t group) const {
    if (rule_.group_k >= rule_.groups) return true;
    const A own = group_score(group);
    std::int64_t before = 0;
    for (std::int64_t other = 0; other < rule_.groups; ++other) {
      const A s = group_score(other);
      if (s > own || (s == own && other < group)) ++before;
    }
    return before < rule_.group_k;
  }

  void insert(std::int32_t expert, std::int32_t* chosen, std::int64_t& count) const {
    const A s = score(expert);
    std::int64_t place = count;
    while (place > 0 && score(chosen[place - 1]) < s) --place;
    if (place == rule_.k) return;
    count = std::min(count + 1, rule_.k);
    for (std::int64_t i = count - 1; i > place; --i) chosen[i] = chosen[i - 1];
    chosen[place] = expert;
  }

  std::int64_t width_;
  attributes::TopK rule_;
  std::int64_t group_;  ///< experts in one
  const A* bias_;
  const T* scores_ = nullptr;
};

template <class T>
void top_k(const KernelCall& call) {
  const Tensor &scores = call.in[0], &chosen = call.out[0];
  const auto rule = call.attributes.as<attributes::TopK>();
  const std::int64_t width = width_of(scores), rows = rows_of(scores);
  parallel_ranges(threads_of(call.stream), rows, width * rule.k, [&](std::int64_t begin, std::int64_t end) {
    Choice<T> choice(scores, call.in[1], rule);
    for (std::int64_t row = begin; row < end; ++row)
      choice.best(scores.as<const T>() + row * width, chosen.as<std::int32_t>() + row * rule.k);
  });
}

template <class T>
void take(const KernelCall& call) {
  const std::int64_t width = width_of(call.in[0]), k = width_of(call.in[1]), rows = rows_of(call.in[1]);
  const T* const scores = call.in[0].as<const T>();
  const auto* const choice = call.in[1].as<const std::int32_t>();
  T* const taken = call.out[0].as<T>();
  check_below("expert", call.in[1], width);
  parallel_ranges(threads_of(call.stream), rows, k, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t i = row * k; i < (row + 1) * k; ++i) taken[i] = scores[row * width + choice[i]];
  });
}

template <class T>
void take_grad(const KernelCall& call) {
  const std::int64_t width = width_of(call.out[0]), k = width_of(call.in[1]), rows = rows_of(call.in[1]);
  const T* const d = call.in[0].as<const T>();
  const auto* const choice = call.in[1].as<const std::int32_t>();
  T* const gradient = call.out[0].as<T>();
  check_below("expert", call.in[1], width);
  parallel_ranges(threads_of(call.stream), rows, width, [&](std::int64_t begin, std::int64_t end) {
    std::fill(gradient + begin * width, gradient + end * width, narrow<T>(0));
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t i = row * k; i < (row + 1) * k; ++i) gradient[row * width + choice[i]] = d[i];
  });
}

/// Rows are of a few elements, too short for vectors.
template <class T>
struct Normalise {
  using A = Accumulation<T>;

  static A sum(const T* x, std::int64_t k) {
    A sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += widen(x[i]);
    return sum;
  }

  static void forward(const KernelCall& call) {
    const std::int64_t k = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const A factor = A(call.attributes.as<attributes::Factor>().factor);
    parallel_ranges(threads_of(call.stream), rows, k, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const x = call.in[0].as<const T>() + row * k;
        T* const y = call.out[0].as<T>() + row * k;
        const A total = sum(x, k);
        for (std::int64_t i = 0; i < k; ++i) y[i] = narrow<T>(total == A(0) ? A(0) : factor * widen(x[i]) / total);
      }
    });
  }

  /// factor ÷ Σ x · (dy − Σ dy·x ÷ Σ x)
  static void gradient(const KernelCall& call) {
    const std::int64_t k = width_of(call.in[0]), rows = rows_of(call.in[0]);
    const A factor = A(call.attributes.as<attributes::Factor>().factor);
    parallel_ranges(threads_of(call.stream), rows, k, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T *const dy = call.in[0].as<const T>() + row * k, *const x = call.in[1].as<const T>() + row * k;
        T* const dx = call.out[0].as<T>() + row * k;
        const A total = sum(x, k);
        A mean = 0;
        for (std::int64_t i = 0; i < k; ++i) mean += widen(dy[i]) * widen(x[i]);
        mean /= total;
        for (std::int64_t i = 0; i < k; ++i)
          dx[i] = narrow<T>(total == A(0) ? A(0) : factor * (widen(dy[i]) - mean) / total);
      }
    });
  }
};

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"top_k", dtype_of<T>, top_k<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"take", dtype_of<T>, take<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"take_grad", dtype_of<T>, take_grad<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"normalise", dtype_of<T>, Normalise<T>::forward};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"normalise_grad", dtype_of<T>, Normalise<T>::gradient};
                                }));

}  // namespace

std::span<const KernelEntry> top_k_kernels() {
  return k_entries;
}

}  // namespace tessera::host
