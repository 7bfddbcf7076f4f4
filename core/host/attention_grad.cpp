// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// attention_grad: probabilities are made again from the log-sum-exp (Dao 2023, FlashAttention-2). A unit of work is a
// chunk of the keys of one key/value head: it owns their gradients, and adds to its own copy of the queries' gradients.
// With D = Σ do·o − dlse: dS = p·(do·vᵀ − D), dv = pᵀ·do, dk = dSᵀ·(scale·q), dq = scale·dS·k.
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/host/attention_tile.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/rows.hpp"

namespace tessera::host {
namespace {

enum Input { k_do, k_dlse, k_q, k_k, k_v, k_q_position, k_k_position, k_q_document, k_k_document, k_o, k_lse };

/// How the work is cut and where its parts lie in the workspace, as functions of the shape (and the number of threads,
/// where a part is one thread's own).
template <class A>
struct BackwardLayout {
  const AttentionShape& shape;
  std::int64_t units, chunks, key_blocks_per_chunk;

  explicit BackwardLayout(const AttentionShape& shape_) : shape(shape_), units(shape.batch * shape.kv_heads) {
    constexpr std::int64_t wanted = 8;  // units that keep threads busy where there are few heads
    const std::int64_t blocks = std::max<std::int64_t>(1, shape.key_blocks());
    const std::int64_t most = units == 0 ? 1 : (wanted + units - 1) / units;
    key_blocks_per_chunk = (blocks + std::min(blocks, most) - 1) / std::min(blocks, most);
    chunks = (blocks + key_blocks_per_chunk - 1) / key_blocks_per_chunk;
  }

  std::int64_t column_stride() const { return TileSizes<A>::whole_columns(shape.head_dim); }
  std::int64_t query_block_elements() const { return k_block_queries * column_stride(); }
  /// Gradients of all queries of one head, and of the heads that read one key/value head.
  std::int64_t head_elements() const { return shape.query_blocks() * query_block_elements(); }
  std::int64_t unit_elements() const { return shape.group * head_elements(); }
  /// One chunk: a thread keeps the gradients only until its unit is done. Several: all are kept, then added in order.
  std::int64_t copies(int threads) const { return chunks == 1 ? threads : units * chunks; }

  std::int64_t scratch_elements() const {
    const std::int64_t d = shape.head_dim, keys = TileSizes<A>::whole_rows(k_block_keys);
    return 2 * left_elements<A>(k_block_queries, d) + 2 * right_elements<A>(k_block_queries, d) +
           2 * right_elements<A>(d, k_block_keys) + right_elements<A>(k_block_keys, d) +
           2 * k_block_queries * TileSizes<A>::row_stride + keys * TileSizes<A>::row_stride +
           2 * keys * column_stride();
  }

  std::int64_t statistics() const { return (shape.queries * shape.batch * shape.heads + 15) / 16 * 16; }
  std::int64_t elements(int threads) const {
    return statistics() + threads * scratch_elements() + copies(threads) * unit_elements();
  }
};

/// One thread's scratch.
template <class A>
struct BackwardScratch {
  A *q_left, *do_left, *q_right, *do_right, *keys_transposed, *values_transposed, *keys, *p, *ds, *transposed, *dk, *dv;

  BackwardScratch(A* memory, std::int64_t d) {
    const std::int64_t whole_keys = TileSizes<A>::whole_rows(k_block_keys);
    const auto take = [&](std::int64_t elements) {
      A* const part = memory;
      memory += elements;
      return part;
    };
    q_left = take(left_elements<A>(k_block_queries, d));
    do_left = take(left_elements<A>(k_block_queries, d));
    q_right = take(right_elements<A>(k_block_queries, d));
    do_right = take(right_elements<A>(k_block_queries, d));
    keys_transposed = take(right_elements<A>(d, k_block_keys));
    values_transposed = take(right_elements<A>(d, k_block_keys));
    keys = take(right_elements<A>(k_block_keys, d));
    p = take(k_block_queries * TileSizes<A>::row_stride);
    ds = take(k_block_queries * TileSizes<A>::row_stride);
    transposed = take(whole_keys * TileSizes<A>::row_stride);
    dk = take(whole_keys * TileSizes<A>::whole_columns(d));
    dv = take(whole_keys * TileSizes<A>::whole_columns(d));
  }
};

/// One chunk of keys of one key/value head, against all queries that read it.
template <class T>
class BackwardUnit {
 public:
  using A = Accumulation<T>;
  using Sizes = TileSizes<A>;

  /// `sums` are the D of all queries, like lse; `dq` is this unit's copy of the queries' gradients.
  BackwardUnit(const KernelCall& call, const BackwardLayout<A>& layout, const A* sums, A* scratch, A* dq)
      : call_(call),
        layout_(layout),
        shape_(layout.shape),
        scratch_(scratch, shape_.head_dim),
        sums_(sums),
        dq_(dq),
        scale_(A(call.attributes.as<attributes::Attention>().scale)) {}

  void run(std::int64_t b, std::int64_t kv_head, std::int64_t chunk) {
    b_ = b;
    kv_head_ = kv_head;
    std::fill_n(dq_, layout_.unit_elements(), A(0));
    const std::int64_t begin = chunk * layout_.key_blocks_per_chunk * k_block_keys;
    const std::int64_t end = std::min(shape_.keys, begin + layout_.key_blocks_per_chunk * k_block_keys);
    for (std::int64_t key = begin; key < end; key += k_block_keys) add_keys(key);
  }

 private:
  std::int64_t stride() const { return layout_.column_stride(); }

  void add_keys(std::int64_t first) {
    const std::int64_t n = std::min(k_block_keys, shape_.keys - first), d = shape_.head_dim;
    k_.read(call_.in[k_k_position], call_.in[k_k_document], shape_.batch, b_, first, n);
    const std::int64_t at = first * shape_.key_stride() + shape_.key_offset(b_, kv_head_);
    const T *const k = call_.in[k_k].as<const T>() + at, *const v = call_.in[k_v].as<const T>() + at;
    pack_right_transposed(k, shape_.key_stride(), d, n, scratch_.keys_transposed);
    pack_right_transposed(v, shape_.key_stride(), d, n, scratch_.values_transposed);
    pack_right(k, shape_.key_stride(), n, d, scratch_.keys);
    std::fill_n(scratch_.dk, Sizes::whole_rows(n) * stride(), A(0));
    std::fill_n(scratch_.dv, Sizes::whole_rows(n) * stride(), A(0));
    const std::int64_t first_head =
        std::max<std::int64_t>(0, (kv_head_ + shape_.first_kv_head) * shape_.group - shape_.first_head);
    for (std::int64_t head = first_head; head < shape_.heads && shape_.kv_head(head) == kv_head_; ++head)
      for (std::int64_t query = 0; query < shape_.queries; query += k_block_queries)
        add_queries(head, query, dq_ + (head - first_head) * layout_.head_elements() + query * stride());
    write(scratch_.dk, call_.out[1], at, n);
    write(scratch_.dv, call_.out[2], at, n);
  }

  void add_queries(std::int64_t head, std::int64_t first, A* dq) {
    const std::int64_t n = std::min(k_block_queries, shape_.queries - first), d = shape_.head_dim, keys = k_.count;
    q_.read(call_.in[k_q_position], call_.in[k_q_document], shape_.batch, b_, first, n);
    const Visible seen = visible(q_, k_);
    if (seen == Visible::none) return;
    pack_queries(head, first, n);
    const SeenParts<A> parts(q_, k_, seen);
    const auto seen_keys = [&](std::int64_t row) { return RowBounds{parts.keys(row), 0, d}; };
    const auto over_keys = [&](std::int64_t row) { return RowBounds{d, 0, parts.keys(row)}; };
    const auto over_queries = [&](std::int64_t key) { return RowBounds{d, parts.first_query(key), n}; };
    multiply_packed(Result::assign, scratch_.q_left, scratch_.keys_transposed, n, keys, d, scratch_.p,
                    Sizes::row_stride, seen_keys);
    multiply_packed(Result::assign, scratch_.do_left, scratch_.values_transposed, n, keys, d, scratch_.ds,
                    Sizes::row_stride, seen_keys);
    for (std::int64_t row = 0; row < n; ++row)
      differentiate(row, ((first + row) * shape_.batch + b_) * shape_.heads + head, parts.columns(row), seen);
    pack_left_transposed(scratch_.p, Sizes::row_stride, keys, n, scratch_.transposed);
    multiply_packed(Result::add, scratch_.transposed, scratch_.do_right, keys, d, n, scratch_.dv, stride(),
                    over_queries);
    pack_left_transposed(scratch_.ds, Sizes::row_stride, keys, n, scratch_.transposed);
    multiply_packed(Result::add, scratch_.transposed, scratch_.q_right, keys, d, n, scratch_.dk, stride(),
                    over_queries);
    multiply_packed(Result::add, scratch_.ds, scratch_.keys, n, d, keys, dq, stride(), over_keys);
  }

  void pack_queries(std::int64_t head, std::int64_t first, std::int64_t n) {
    const std::int64_t at = first * shape_.query_stride() + shape_.query_offset(b_, head), d = shape_.head_dim;
    const T *const q = call_.in[k_q].as<const T>() + at, *const gradient = call_.in[k_do].as<const T>() + at;
    pack_left(q, shape_.query_stride(), n, d, scratch_.q_left);
    scale_left(scratch_.q_left, n, d, scale_);
    pack_right(q, shape_.query_stride(), n, d, scratch_.q_right);
    for (std::int64_t i = 0; i < right_elements<A>(n, d); ++i) scratch_.q_right[i] *= scale_;
    pack_left(gradient, shape_.query_stride(), n, d, scratch_.do_left);
    pack_right(gradient, shape_.query_stride(), n, d, scratch_.do_right);
  }

  /// One row of scores becomes probabilities, one row of do·vᵀ becomes dS; behind the first columns both are 0.
  void differentiate(std::int64_t row, std::int64_t statistic, std::int64_t columns, Visible seen) {
    A *const p = scratch_.p + row * Sizes::row_stride, *const ds = scratch_.ds + row * Sizes::row_stride;
    if (seen == Visible::some) mask_row(q_, row, k_, columns, p);
    const A lse = call_.in[k_lse].as<const A>()[statistic], sum = sums_[statistic];
    // A query that saw no key has lse = −inf; an infinite shift makes all its probabilities 0.
    const A shift = lse == -std::numeric_limits<A>::infinity() ? std::numeric_limits<A>::infinity() : lse;
#pragma omp simd
    for (std::int64_t j = 0; j < columns; ++j) {
      p[j] = exponential_of_negative(p[j] - shift);
      ds[j] = p[j] * (ds[j] - sum);
    }
    std::fill(p + columns, p + k_block_keys, A(0));
    std::fill(ds + columns, ds + k_block_keys, A(0));
  }

  void write(const A* rows, const Tensor& out, std::int64_t at, std::int64_t n) {
    if (out.data == nullptr) return;
    for (std::int64_t row = 0; row < n; ++row)
      narrow(rows + row * stride(), out.as<T>() + at + row * shape_.key_stride(), shape_.head_dim);
  }

  const KernelCall& call_;
  const BackwardLayout<A>& layout_;
  const AttentionShape& shape_;
  BackwardScratch<A> scratch_;
  const A* sums_;
  A* dq_;
  A scale_;
  std::int64_t b_ = 0, kv_head_ = 0;
  QueryBlock q_;
  KeyBlock k_;
};

/// D = Σ over the head dim of do·o, minus dlse, for every query and head.
template <class T>
void output_projections(const KernelCall& call, const AttentionShape& shape, Accumulation<T>* sums, int threads) {
  using A = Accumulation<T>;
  const std::int64_t count = shape.queries * shape.batch * shape.heads, d = shape.head_dim;
  const T *const gradient = call.in[k_do].as<const T>(), *const o = call.in[k_o].as<const T>();
  const A* const dlse = call.in[k_dlse].as<const A>();
  parallel_ranges(threads, count, d, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const A sum = sum_over<A>(
          d, [](auto a, auto b) { return a * b; }, gradient + i * d, o + i * d);
      sums[i] = dlse == nullptr ? sum : sum - dlse[i];
    }
  });
}

template <class T>
class Backward {
 public:
  using A = Accumulation<T>;

  explicit Backward(const KernelCall& call)
      : call_(call),
        shape_(call.in[k_q], call.in[k_k], call.attributes.as<attributes::Attention>().group),
        layout_(shape_),
        threads_(threads_of(call.stream)),
        sums_(reinterpret_cast<A*>(call.workspace.data())),
        scratch_(sums_ + layout_.statistics()),
        dq_(scratch_ + threads_ * layout_.scratch_elements()) {}

  void run() {
    output_projections<T>(call_, shape_, sums_, threads_);
    parallel_parts(threads_, layout_.units * layout_.chunks, [&](std::int64_t part, int thread) {
      const std::int64_t unit = part / layout_.chunks, chunk = part % layout_.chunks;
      A* const dq = dq_ + (layout_.chunks == 1 ? thread : part) * layout_.unit_elements();
      BackwardUnit<T>(call_, layout_, sums_, scratch_ + thread * layout_.scratch_elements(), dq)
          .run(unit / shape_.kv_heads, unit % shape_.kv_heads, chunk);
      if (layout_.chunks == 1) write_queries(unit, dq);
    });
    if (layout_.chunks == 1) return;
    parallel_parts(threads_, layout_.units, [&](std::int64_t unit, int) {
      write_queries(unit, dq_ + unit * layout_.chunks * layout_.unit_elements());
    });
  }

  static std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes& attributes,
                                int threads) {
    const AttentionShape shape(in[k_q], in[k_k], attributes.as<attributes::Attention>().group);
    return BackwardLayout<A>(shape).elements(threads) * std::int64_t(sizeof(A));
  }

 private:
  /// dq of the heads that read one key/value head: the sum of the chunks' copies, in order.
  void write_queries(std::int64_t unit, A* copies) {
    if (call_.out[0].data == nullptr) return;
    const std::int64_t b = unit / shape_.kv_heads, kv_head = unit % shape_.kv_heads, d = shape_.head_dim;
    const A scale = A(call_.attributes.as<attributes::Attention>().scale);
    std::int64_t copy_head = 0;
    for (std::int64_t head = 0; head < shape_.heads; ++head) {
      if (shape_.kv_head(head) != kv_head) continue;
      for (std::int64_t query = 0; query < shape_.queries; ++query) {
        A* const row = copies + copy_head * layout_.head_elements() + query * layout_.column_stride();
        for (std::int64_t chunk = 1; chunk < layout_.chunks; ++chunk) {
          const A* const other = row + chunk * layout_.unit_elements();
          for (std::int64_t i = 0; i < d; ++i) row[i] += other[i];
        }
        for (std::int64_t i = 0; i < d; ++i) row[i] *= scale;
        narrow(row, call_.out[0].as<T>() + query * shape_.query_stride() + shape_.query_offset(b, head), d);
      }
      ++copy_head;
    }
  }

  const KernelCall& call_;
  AttentionShape shape_;
  BackwardLayout<A> layout_;
  int threads_;
  A *sums_, *scratch_, *dq_;
};

constexpr auto k_entries = for_floating([]<class T>() {
  return KernelEntry{"attention_grad", dtype_of<T>, [](const KernelCall& call) { Backward<T>(call).run(); },
                     Backward<T>::workspace};
});

}  // namespace

std::span<const KernelEntry> attention_grad_kernels() {
  return k_entries;
}

}  // namespace tessera::host
