// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// attention: softmax over visible keys by blocks (Dao 2023, FlashAttention-2): scores of one block of queries and one
// of keys at a time, running maximum and sum, blocks of keys in order. Blocks in which no key is visible are skipped.
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/host/attention_tile.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

/// One thread's scratch, cut from its workspace.
template <class A>
struct ForwardScratch {
  A *queries, *keys, *values, *scores, *output;

  static std::int64_t elements(std::int64_t head_dim) {
    return left_elements<A>(k_block_queries, head_dim) + right_elements<A>(head_dim, k_block_keys) +
           right_elements<A>(k_block_keys, head_dim) + k_block_queries * TileSizes<A>::row_stride +
           k_block_queries * TileSizes<A>::whole_columns(head_dim);
  }

  ForwardScratch(A* memory, std::int64_t head_dim)
      : queries(memory),
        keys(queries + left_elements<A>(k_block_queries, head_dim)),
        values(keys + right_elements<A>(head_dim, k_block_keys)),
        scores(values + right_elements<A>(k_block_keys, head_dim)),
        output(scores + k_block_queries * TileSizes<A>::row_stride) {}
};

/// All keys for one block of queries of one head.
template <class T>
class ForwardBlock {
 public:
  using A = Accumulation<T>;
  using Sizes = TileSizes<A>;

  ForwardBlock(const KernelCall& call, const AttentionShape& shape, A* memory)
      : call_(call), shape_(shape), scratch_(memory, shape.head_dim) {}

  void run(std::int64_t b, std::int64_t head, std::int64_t first) {
    const std::int64_t n = std::min(k_block_queries, shape_.queries - first);
    q_.read(call_.in[3], call_.in[5], shape_.batch, b, first, n);
    const T* const queries = call_.in[0].as<const T>() + first * shape_.query_stride() + shape_.query_offset(b, head);
    pack_left(queries, shape_.query_stride(), n, shape_.head_dim, scratch_.queries);
    scale_left(scratch_.queries, n, shape_.head_dim, A(call_.attributes.as<attributes::Attention>().scale));
    std::fill_n(scratch_.output, Sizes::whole_rows(n) * output_stride(), A(0));
    std::fill_n(maximum_, n, -std::numeric_limits<A>::infinity());
    std::fill_n(sum_, n, A(0));
    for (std::int64_t key = 0; key < shape_.keys; key += k_block_keys) add_keys(b, head, key);
    write(b, head, first);
  }

 private:
  std::int64_t output_stride() const { return Sizes::whole_columns(shape_.head_dim); }

  void add_keys(std::int64_t b, std::int64_t head, std::int64_t first) {
    const std::int64_t n = std::min(k_block_keys, shape_.keys - first);
    k_.read(call_.in[4], call_.in[6], shape_.batch, b, first, n);
    const Visible seen = visible(q_, k_);
    if (seen == Visible::none) return;
    const std::int64_t offset = first * shape_.key_stride() + shape_.key_offset(b, shape_.kv_head(head));
    pack_right_transposed(call_.in[1].as<const T>() + offset, shape_.key_stride(), shape_.head_dim, n, scratch_.keys);
    pack_right(call_.in[2].as<const T>() + offset, shape_.key_stride(), n, shape_.head_dim, scratch_.values);
    const SeenParts<A> parts(q_, k_, seen);
    const std::int64_t d = shape_.head_dim;
    multiply_packed(Result::assign, scratch_.queries, scratch_.keys, q_.count, n, d, scratch_.scores, Sizes::row_stride,
                    [&](std::int64_t row) {
                      return RowBounds{parts.keys(row), 0, d};
                    });
    for (std::int64_t row = 0; row < q_.count; ++row) exponentiate(row, parts.columns(row), seen);
    multiply_packed(Result::add, scratch_.scores, scratch_.values, q_.count, d, n, scratch_.output, output_stride(),
                    [&](std::int64_t row) {
                      return RowBounds{d, 0, parts.keys(row)};
                    });
  }

  /// The first scores of one query become exp(score − maximum); what was summed before is brought to the new maximum.
  void exponentiate(std::int64_t row, std::int64_t columns, Visible seen) {
    A* const scores = scratch_.scores + row * Sizes::row_stride;
    if (seen == Visible::some) mask_row(q_, row, k_, columns, scores);
    A largest = maximum_[row];
#pragma omp simd reduction(max : largest)
    for (std::int64_t j = 0; j < columns; ++j) largest = scores[j] > largest ? scores[j] : largest;
    // Where no key was seen yet, any finite shift gives exp(−inf) = 0.
    const A shift = largest == -std::numeric_limits<A>::infinity() ? A(0) : largest;
#pragma omp simd
    for (std::int64_t j = 0; j < columns; ++j) scores[j] = exponential_of_negative(scores[j] - shift);
    const A before = maximum_[row] == largest ? A(1) : exponential_of_negative(maximum_[row] - shift);
    sum_[row] = sum_[row] * before + sum_over<A>(
                                         columns, [](auto v) { return v; }, static_cast<const A*>(scores));
    maximum_[row] = largest;
    if (before == A(1)) return;
    A* const output = scratch_.output + row * output_stride();
#pragma omp simd
    for (std::int64_t i = 0; i < output_stride(); ++i) output[i] *= before;
  }

  void write(std::int64_t b, std::int64_t head, std::int64_t first) {
    for (std::int64_t row = 0; row < q_.count; ++row) {
      const bool unseen = sum_[row] == A(0);
      if (call_.out[1].data != nullptr) {
        const std::int64_t at = ((first + row) * shape_.batch + b) * shape_.heads + head;
        call_.out[1].as<A>()[at] = unseen ? -std::numeric_limits<A>::infinity() : maximum_[row] + std::log(sum_[row]);
      }
      if (call_.out[0].data == nullptr) continue;
      A* const output = scratch_.output + row * output_stride();
      const A factor = unseen ? A(0) : A(1) / sum_[row];
#pragma omp simd
      for (std::int64_t i = 0; i < shape_.head_dim; ++i) output[i] *= factor;
      narrow(output, call_.out[0].as<T>() + (first + row) * shape_.query_stride() + shape_.query_offset(b, head),
             shape_.head_dim);
    }
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  ForwardScratch<A> scratch_;
  QueryBlock q_;
  KeyBlock k_;
  A maximum_[k_block_queries], sum_[k_block_queries];
};

template <class T>
void attention(const KernelCall& call) {
  using A = Accumulation<T>;
  const AttentionShape shape(call.in[0], call.in[1], call.attributes.as<attributes::Attention>().group);
  auto* const memory = reinterpret_cast<A*>(call.workspace.data());
  const std::int64_t scratch = ForwardScratch<A>::elements(shape.head_dim);
  const std::int64_t blocks = shape.query_blocks();
  parallel_parts(threads_of(call.stream), shape.batch * shape.heads * blocks, [&](std::int64_t part, int thread) {
    const std::int64_t block = blocks - 1 - part % blocks;  // late queries see most keys: begin with them
    const std::int64_t head = part / blocks % shape.heads, b = part / blocks / shape.heads;
    ForwardBlock<T>(call, shape, memory + thread * scratch).run(b, head, block * k_block_queries);
  });
}

template <class T>
std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int threads) {
  using A = Accumulation<T>;
  return threads * ForwardScratch<A>::elements(in[0].shape[3]) * std::int64_t(sizeof(A));
}

constexpr auto k_entries = for_floating([]<class T>() {
  return KernelEntry{"attention", dtype_of<T>, attention<T>, workspace<T>};
});

}  // namespace

std::span<const KernelEntry> attention_kernels() {
  return k_entries;
}

}  // namespace tessera::host
