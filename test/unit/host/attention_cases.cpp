// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "attention_cases.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::test {
namespace {

/// Position of a token of `count`.
double position_of(Order order, std::int64_t token, std::int64_t count, std::uint64_t seed) {
  switch (order) {
    case Order::causal:
      return static_cast<double>(token);
    case Order::zigzag:
      return static_cast<double>(token < count / 2 ? token : token + 2 * count);
    case Order::shuffled:
      return static_cast<double>(token * 7919 % std::max<std::int64_t>(1, count + 3));
    case Order::no_key_visible:
      return random_integers(seed, token + 1, -50, -10).back();
  }
  return 0;
}

}  // namespace

reference::AttentionInputs make_inputs(const AttentionCase& c, DType dtype, std::uint64_t seed) {
  reference::AttentionInputs in{.queries = c.queries,
                                .keys = c.keys,
                                .batch = c.batch,
                                .heads = c.heads,
                                .kv_heads = c.kv_heads,
                                .head_dim = c.head_dim,
                                .group = c.group > 0 ? c.group : std::max<std::int64_t>(1, c.heads / c.kv_heads),
                                .first_head = c.first_head,
                                .first_kv_head = c.first_kv_head,
                                .scale = 2.5 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, c.head_dim)))};
  in.q = rounded(dtype, random_values(seed, c.queries * c.batch * c.heads * c.head_dim));
  in.k = rounded(dtype, random_values(seed + 1, c.keys * c.batch * c.kv_heads * c.head_dim));
  in.v = rounded(dtype, random_values(seed + 2, c.keys * c.batch * c.kv_heads * c.head_dim));
  for (std::int64_t token = 0; token < c.queries; ++token)
    for (std::int64_t b = 0; b < c.batch; ++b)
      in.q_position.push_back(position_of(c.order, token, c.queries, seed + 3) + static_cast<double>(b));
  for (std::int64_t token = 0; token < c.keys; ++token)
    for (std::int64_t b = 0; b < c.batch; ++b)
      in.k_position.push_back(
          position_of(c.order == Order::no_key_visible ? Order::causal : c.order, token, c.keys, 0));
  in.q_document = random_integers(seed + 4, c.queries * c.batch, 0, c.documents);
  in.k_document = random_integers(seed + 5, c.keys * c.batch, 0, c.documents);
  return in;
}

std::vector<TensorValue> operands(const reference::AttentionInputs& in, DType dtype) {
  const Shape q{in.queries, in.batch, in.heads, in.head_dim}, k{in.keys, in.batch, in.kv_heads, in.head_dim};
  const Shape q_tokens{in.queries, in.batch}, k_tokens{in.keys, in.batch};
  return {TensorValue(dtype, q, in.q).starting_at(2, in.first_head),
          TensorValue(dtype, k, in.k).starting_at(2, in.first_kv_head),
          TensorValue(dtype, k, in.v).starting_at(2, in.first_kv_head),
          TensorValue(DType::i32, q_tokens, in.q_position),
          TensorValue(DType::i32, k_tokens, in.k_position),
          TensorValue(DType::i32, q_tokens, in.q_document),
          TensorValue(DType::i32, k_tokens, in.k_document)};
}

Attributes attributes_of(const reference::AttentionInputs& in) {
  return Attributes::of(attributes::Attention{in.scale, in.group});
}

std::vector<AttentionCase> attention_cases() {
  return {
      {1, 1, 1, 1, 1, 1},
      {7, 7, 2, 2, 2, 5},
      {33, 40, 1, 6, 2, 16},
      {100, 100, 1, 1, 1, 64},
      {97, 129, 2, 2, 1, 18, Order::causal, 3},
      {150, 300, 1, 2, 2, 8, Order::zigzag},
      {130, 270, 1, 2, 2, 12, Order::shuffled, 2},
      {20, 130, 1, 1, 1, 4, Order::no_key_visible},
      {9, 9, 1, 1, 1, 300},
      {0, 5, 1, 2, 1, 8},
      {5, 0, 1, 2, 1, 8},
      {5, 5, 0, 2, 1, 8},
      {5, 5, 1, 0, 1, 8, Order::causal, 1, 0, 0, 1},
      // Shards of heads: queries 4 … 6 of groups of 2 read key heads 2 and 3, which are the local 1 and 2 of a part
      // from 1.
      {12, 12, 1, 3, 3, 6, Order::causal, 1, 4, 1, 2},
  };
}

std::string describe(const AttentionCase& c) {
  return "queries " + std::to_string(c.queries) + ", keys " + std::to_string(c.keys) + ", batch " +
         std::to_string(c.batch) + ", heads " + std::to_string(c.heads) + ", head dim " + std::to_string(c.head_dim);
}

}  // namespace tessera::test
