// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What experts get, and the losses that keep them balanced: E · Σ share · mean score (Fedus et al. 2021), taken per
// sequence, and the squared log-sum-exp of the logits (Zoph et al. 2022). A rank may see a part of each sequence; what
// it adds is divided by the whole length, so that the parts' results sum to the whole's.
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/host/choices.hpp"
#include "core/host/dispatch.hpp"
#include "core/host/exponentials.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

/// 1 ÷ length of the whole sequence.
double per_token(const KernelCall& call) {
  return 1 / static_cast<double>(call.attributes.as<attributes::Extent>().extent);
}

void add_or_assign(const KernelCall& call, double sum) {
  auto* const result = call.out[0].as<double>();
  *result = call.accumulates(0) ? *result + sum : sum;
}

void expert_share(const KernelCall& call) {
  const Shape& shape = call.in[0].shape;
  const std::int64_t tokens = shape[0], batch = shape[1], k = shape[2], experts = call.out[0].shape[1];
  const auto rule = call.attributes.as<attributes::ExpertShare>();
  const auto* const choice = call.in[0].as<const std::int32_t>();
  auto* const share = call.out[0].as<double>();
  check_below("expert", call.in[0], experts);
  const double each = static_cast<double>(experts) / static_cast<double>(k * rule.sequence);
  parallel_ranges(threads_of(call.stream), batch, tokens * k, [&](std::int64_t begin, std::int64_t end) {
    std::fill(share + begin * experts, share + end * experts, 0.0);
    for (std::int64_t token = 0; token < tokens; ++token)
      for (std::int64_t b = begin; b < end; ++b)
        for (std::int64_t i = 0; i < k; ++i) share[b * experts + choice[(token * batch + b) * k + i]] += 1;
    for (std::int64_t i = begin * experts; i < end * experts; ++i) share[i] *= each;
  });
}

/// Choices are few beside what experts do with them: one thread counts.
template <class A>
void expert_load(const KernelCall& call) {
  const std::int64_t experts = call.out[0].count();
  const auto* const choice = call.in[0].as<const std::int32_t>();
  A* const load = call.out[0].as<A>();
  check_below("expert", call.in[0], experts);
  if (!call.accumulates(0)) std::fill_n(load, experts, A(0));
  for (std::int64_t i = 0; i < call.in[0].count(); ++i) load[choice[i]] += 1;
}

/// Loads are whole numbers, so a mean that they meet is met on every layout.
template <class A>
void balance_bias(const KernelCall& call) {
  if (call.in[2].as<const double>()[2] != 0) return;
  const auto rule = call.attributes.as<attributes::BalanceBias>();
  for (std::int64_t first = 0; first < call.in[0].count(); first += rule.stride) {
    A* const bias = call.in[0].as<A>() + first;
    const A* const load = call.in[1].as<const A>() + first;
    double total = 0;
    for (std::int64_t e = 0; e < rule.experts; ++e) total += double(load[e]);
    for (std::int64_t e = 0; e < rule.experts; ++e) {
      const double above = double(load[e]) * double(rule.experts) - total;
      if (above != 0) bias[e] += A(above > 0 ? -rule.rate : rule.rate);
    }
  }
}

/// Each thread has columns of its own and adds all tokens in order.
template <class T>
void sequence_mean(const KernelCall& call) {
  using A = Accumulation<T>;
  const std::int64_t tokens = call.in[0].shape[0], columns = call.out[0].count();
  const T* const scores = call.in[0].as<const T>();
  A* const mean = call.out[0].as<A>();
  const A factor = A(per_token(call));
  parallel_ranges(threads_of(call.stream), columns, tokens, [&](std::int64_t begin, std::int64_t end) {
    Reader<T> reader;
    for (std::int64_t at = begin; at < end; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, end - at);
      A* const sums = mean + at;
      std::fill_n(sums, n, A(0));
      for (std::int64_t token = 0; token < tokens; ++token) {
        const A* const row = reader(scores + token * columns + at, n);
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) sums[i] += row[i];
      }
      for (std::int64_t i = 0; i < n; ++i) sums[i] *= factor;
    }
  });
}

/// Its first operand has the type of the loss behind it, so the output's dtype decides here.
template <class D>
void sequence_mean_grad(const KernelCall& call) {
  const D* const d = call.in[0].as<const D>();
  const double factor = per_token(call);
  const std::int64_t tokens = call.out[0].shape[0], columns = call.in[0].count();
  with_floating(call.out[0].dtype, [&]<class T>() {
    using A = Accumulation<T>;
    parallel_ranges(threads_of(call.stream), tokens, columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t token = begin; token < end; ++token)
        map(
            1, columns, call.out[0].as<T>() + token * columns, [factor](D x) { return static_cast<A>(x * factor); }, d);
    });
  });
}

/// Sequences and experts are few: one thread adds them, in order.
void balance_loss(const KernelCall& call) {
  const auto* const share = call.in[0].as<const double>();
  with_floating(call.in[1].dtype, [&]<class T>() {
    const T* const mean = call.in[1].as<const T>();
    double sum = 0;
    for (std::int64_t i = 0; i < call.in[0].count(); ++i) sum += share[i] * double(widen(mean[i]));
    add_or_assign(call, sum);
  });
}

void balance_loss_grad(const KernelCall& call) {
  const double d = *call.in[0].as<const double>();
  map(
      threads_of(call.stream), call.out[0].count(), call.out[0].as<double>(), [d](double share) { return d * share; },
      call.in[1].as<const double>());
}

template <class T>
struct ZLoss {
  using A = Accumulation<T>;

  struct Row {
    A largest, sum;
    A log_sum() const { return largest + std::log(sum); }
  };

  static Row row_of(const T* logits, std::int64_t width) {
    const A largest = largest_of(logits, width);
    return {largest, exponentials(logits, width, largest, static_cast<A*>(nullptr))};
  }

  static void forward(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[0]), rows = rows_of(call.in[0]), block_rows = rows_per_block(rows);
    auto* const partial = reinterpret_cast<double*>(call.workspace.data());
    parallel_parts(threads_of(call.stream), row_blocks(rows), [&](std::int64_t block, int) {
      double sum = 0;
      for (std::int64_t row = block * block_rows; row < std::min(rows, (block + 1) * block_rows); ++row) {
        const auto log_sum = double(row_of(call.in[0].as<const T>() + row * width, width).log_sum());
        sum += log_sum * log_sum;
      }
      partial[block] = sum;
    });
    double sum = 0;
    for (std::int64_t block = 0; block < row_blocks(rows); ++block) sum += partial[block];
    add_or_assign(call, sum * per_token(call));
  }

  static std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int) {
    return row_blocks(rows_of(in[0])) * std::int64_t(sizeof(double));
  }

  /// d · 2 · log Σ exp · softmax ÷ length
  static void gradient(const KernelCall& call) {
    const std::int64_t width = width_of(call.in[1]), rows = rows_of(call.in[1]);
    const double d = 2 * *call.in[0].as<const double>() * per_token(call);
    parallel_ranges(threads_of(call.stream), rows, 4 * width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const logits = call.in[1].as<const T>() + row * width;
        const Row found = row_of(logits, width);
        const A factor = A(d * double(found.log_sum())) / found.sum;
        map(
            1, width, call.out[0].as<T>() + row * width,
            [factor, largest = found.largest](A x) { return factor * exponential(x - largest); }, logits);
      }
    });
  }
};

/// Its first operand is always f64, so the logits' dtype decides here.
void z_loss_grad(const KernelCall& call) {
  with_floating(call.in[1].dtype, [&]<class T>() { ZLoss<T>::gradient(call); });
}

void auxiliary_seed(const KernelCall& call) {
  *call.out[0].as<double>() = call.step.loss_scale * call.attributes.as<attributes::Factor>().factor;
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"sequence_mean", dtype_of<T>, sequence_mean<T>};
                                }),
                                for_accumulation([]<class A>() {
                                  return KernelEntry{"expert_load", dtype_of<A>, expert_load<A>, nullptr, 1U};
                                }),
                                for_accumulation([]<class A>() {
                                  return KernelEntry{"balance_bias", dtype_of<A>, balance_bias<A>};
                                }),
                                for_accumulation([]<class D>() {
                                  return KernelEntry{"sequence_mean_grad", dtype_of<D>, sequence_mean_grad<D>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"z_loss", dtype_of<T>, ZLoss<T>::forward, ZLoss<T>::workspace, 1U};
                                }),
                                std::array{KernelEntry{"expert_share", DType::f64, expert_share},
                                           KernelEntry{"balance_loss", DType::f64, balance_loss, nullptr, 1U},
                                           KernelEntry{"balance_loss_grad", DType::f64, balance_loss_grad},
                                           KernelEntry{"z_loss_grad", DType::f64, z_loss_grad},
                                           KernelEntry{"auxiliary_seed", DType::f64, auxiliary_seed}});

}  // namespace

std::span<const KernelEntry> balance_kernels() {
  return k_entries;
}

}  // namespace tessera::host
