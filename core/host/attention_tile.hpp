// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what attention and its gradient share: shapes, blocks of tokens, which keys are visible, scaled scores.
// Used: attention.cpp, attention_grad.cpp.
// Must not know: what is made of the scores.
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/device/kernel.hpp"
#include "core/host/math.hpp"
#include "core/host/packed_operand.hpp"

namespace tessera::host {

/// Queries and keys of one tile of scores: rows and columns of whole register tiles, at most TileSizes::depth each.
inline constexpr std::int64_t k_block_queries = 96;
inline constexpr std::int64_t k_block_keys = 128;

/// Extents and head mapping. Tensors are q [s, b, n, d], k and v [t, b, m, d].
struct AttentionShape {
  std::int64_t queries, batch, heads, head_dim, keys, kv_heads;
  std::int64_t group, first_head, first_kv_head;

  AttentionShape(const Tensor& q, const Tensor& k, std::int64_t group_)
      : queries(q.shape[0]),
        batch(q.shape[1]),
        heads(q.shape[2]),
        head_dim(q.shape[3]),
        keys(k.shape[0]),
        kv_heads(k.shape[2]),
        group(group_),
        first_head(q.start[2]),
        first_kv_head(k.start[2]) {}

  /// Local key/value head of a local query head.
  std::int64_t kv_head(std::int64_t head) const { return (head + first_head) / group - first_kv_head; }

  std::int64_t query_blocks() const { return (queries + k_block_queries - 1) / k_block_queries; }
  std::int64_t key_blocks() const { return (keys + k_block_keys - 1) / k_block_keys; }

  /// Elements from one token to the next, and where a head of a sequence begins.
  std::int64_t query_stride() const { return batch * heads * head_dim; }
  std::int64_t key_stride() const { return batch * kv_heads * head_dim; }
  std::int64_t query_offset(std::int64_t b, std::int64_t head) const { return (b * heads + head) * head_dim; }
  std::int64_t key_offset(std::int64_t b, std::int64_t head) const { return (b * kv_heads + head) * head_dim; }
};

enum class Visible : std::uint8_t { none, some, all };

/// Positions and documents of up to `Capacity` consecutive tokens of one sequence, and their ranges.
template <std::int64_t Capacity>
struct TokenBlock {
  alignas(64) std::int32_t position[Capacity], document[Capacity];
  std::int64_t count = 0;
  std::int32_t first_position, last_position, first_document, last_document;

  /// Tokens first … first + n of sequence b in tensors [tokens, batch]. Without documents all are in one. Places after
  /// the last token look like tokens behind every query.
  void read(const Tensor& positions, const Tensor& documents, std::int64_t batch, std::int64_t b, std::int64_t first,
            std::int64_t n) {
    constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    count = n;
    first_position = first_document = most;
    last_position = last_document = least;
    const auto *const p = positions.as<const std::int32_t>(), *const d = documents.as<const std::int32_t>();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = (first + i) * batch + b;
      position[i] = p[at];
      document[i] = d == nullptr ? 0 : d[at];
      first_position = std::min(first_position, position[i]);
      last_position = std::max(last_position, position[i]);
      first_document = std::min(first_document, document[i]);
      last_document = std::max(last_document, document[i]);
    }
    std::fill(position + n, position + Capacity, most);
    std::fill(document + n, document + Capacity, 0);
  }
};

using QueryBlock = TokenBlock<k_block_queries>;
using KeyBlock = TokenBlock<k_block_keys>;

/// By ranges, so `some` may still turn out to be none or all. A short block is never `all`: its tail must be masked.
inline Visible visible(const QueryBlock& q, const KeyBlock& k) {
  if (q.last_position < k.first_position) return Visible::none;
  if (q.last_document < k.first_document || k.last_document < q.first_document) return Visible::none;
  const bool one_document = q.first_document == q.last_document && k.first_document == k.last_document;
  const bool all = one_document && q.first_position >= k.last_position && k.count == k_block_keys;
  return all ? Visible::all : Visible::some;
}

/// Which keys of a block the queries of a register tile may see, and from which query on a register tile of keys may be
/// seen, by positions alone: what lies outside need not be computed.
template <class A>
class SeenParts {
 public:
  SeenParts(const QueryBlock& q, const KeyBlock& k, Visible seen) {
    std::fill(std::begin(keys_), std::end(keys_), k.count);
    std::fill(std::begin(first_), std::end(first_), 0);
    if (seen == Visible::all) return;
    for (std::int64_t row = 0; row < q.count; row += k_rows) {
      const std::int32_t last = *std::max_element(q.position + row, q.position + std::min(q.count, row + k_rows));
      std::int64_t& keys = keys_[row / k_rows];
      while (keys > 0 && k.position[keys - 1] > last) --keys;
    }
    for (std::int64_t key = 0; key < k.count; key += k_rows) {
      const std::int32_t least = *std::min_element(k.position + key, k.position + std::min(k.count, key + k_rows));
      std::int64_t& first = first_[key / k_rows];
      while (first < q.count && q.position[first] < least) ++first;
    }
  }

  /// Keys before which all lie that a query of the register tile of this row sees.
  std::int64_t keys(std::int64_t row) const { return keys_[row / k_rows]; }
  /// The same in whole register tiles: columns of the row's scores that are computed.
  std::int64_t columns(std::int64_t row) const { return TileSizes<A>::whole_columns(keys(row)); }
  /// The first query that sees a key of the register tile of this key.
  std::int64_t first_query(std::int64_t key) const { return first_[key / k_rows]; }

 private:
  static constexpr std::int64_t k_rows = TileSizes<A>::rows;
  std::int64_t keys_[(k_block_queries + k_rows - 1) / k_rows], first_[(k_block_keys + k_rows - 1) / k_rows];
};

/// The first `columns` scores of keys that a query does not see become −inf; also those of places after the last key.
template <class A>
void mask_row(const QueryBlock& q, std::int64_t row, const KeyBlock& k, std::int64_t columns, A* scores) {
  const std::int32_t position = q.position[row], document = q.document[row];
#pragma omp simd
  for (std::int64_t j = 0; j < columns; ++j) {
    const bool seen = position >= k.position[j] && document == k.document[j];
    scores[j] = seen ? scores[j] : -std::numeric_limits<A>::infinity();
  }
}

/// Packed queries times the scale, so that scores and the keys' gradients come out scaled.
template <class A>
void scale_left(A* left, std::int64_t rows, std::int64_t depth, A scale) {
  using Sizes = TileSizes<A>;
  for_depth_blocks<A>(depth, [&](std::int64_t, std::int64_t n, std::int64_t index) {
    for (std::int64_t row = 0; row < rows; ++row) {
      A* const values = left + (index * Sizes::whole_rows(rows) + row) * Sizes::row_stride;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) values[i] *= scale;
    }
  });
}

}  // namespace tessera::host
