// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  inputs of attention in many shapes, and their operands as tensors.
// Used: tests of attention and of its gradient.
// Must not know: how attention is computed.
#pragma once

#include <vector>

#include "kernel_fixture.hpp"

namespace tessera::test {

/// How positions run, by what makes them: a whole sequence, a rank's two pieces of it, or anything.
enum class Order { causal, zigzag, shuffled, no_key_visible };

struct AttentionCase {
  std::int64_t queries, keys, batch, heads, kv_heads, head_dim;
  Order order = Order::causal;
  std::int64_t documents = 1;                                 ///< ids drawn from so many
  std::int64_t first_head = 0, first_kv_head = 0, group = 0;  ///< group 0: heads / kv_heads
};

/// Random values in the dtype's own rounding.
reference::AttentionInputs make_inputs(const AttentionCase& c, DType dtype, std::uint64_t seed);

/// The seven operands q, k, v, positions of queries and keys, documents of both.
std::vector<TensorValue> operands(const reference::AttentionInputs& in, DType dtype);

Attributes attributes_of(const reference::AttentionInputs& in);

/// Small enough for loops over everything; blocks of the kernel are cut in the middle.
std::vector<AttentionCase> attention_cases();

std::string describe(const AttentionCase& c);

}  // namespace tessera::test
