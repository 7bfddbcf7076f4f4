// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the ops of mixtures of experts as plain loops in double.
// Used: tests of kernels, on every device.
// Must not know: kernels, dtypes, layouts, speed.
#pragma once

#include <cstdint>

#include "test/support/tensor_value.hpp"

namespace tessera::test::reference {

/// Over rows of `width`.
Values softmax(const Values& x, std::int64_t width);
Values sigmoid(const Values& x);

/// How a row of `experts` scores chooses `k`; a bias may be empty.
struct ChoiceRule {
  std::int64_t experts, k;
  std::int64_t groups = 1, group_k = 1;
};
Values top_k(const Values& scores, const Values& bias, const ChoiceRule& rule);
/// The chosen scores.
Values take(const Values& scores, const Values& choice, std::int64_t experts, std::int64_t k);
/// factor·x ÷ Σ x over rows of k
Values normalise(const Values& x, std::int64_t k, double factor);

/// Extents of a router: batch, choices per token, experts, length of the whole sequence.
struct RouterExtents {
  std::int64_t batch, k, experts, sequence;
};
/// choice [s, batch, k] -> [batch, experts]
Values expert_share(const Values& choice, const RouterExtents& extents);
/// How often each expert is chosen.
Values expert_load(const Values& choice, std::int64_t experts);
/// scores [s, batch, experts] -> [batch, experts]
Values sequence_mean(const Values& scores, const RouterExtents& extents);
/// logits [s, batch, experts]
double z_loss(const Values& logits, const RouterExtents& extents);

struct ExpertPlan {
  Values index, counts;  ///< [experts, capacity], [experts]
};
ExpertPlan expert_plan(const Values& choice, std::int64_t experts, std::int64_t capacity, std::int64_t round);
/// x [tokens, width] -> [rows, width]; an index is token·k + choice or −1
Values take_rows(const Values& x, const Values& index, std::int64_t width, std::int64_t k);
/// rows [rows, width] -> [tokens, width]
Values put_rows(const Values& rows, const Values& index, std::int64_t tokens, std::int64_t width, std::int64_t k);

/// Rows [experts, parts, capacity, in or out], weights [experts, out, in], counts [experts, parts].
struct GroupedExtents {
  std::int64_t experts, parts, capacity, in, out;
  std::int64_t rows() const { return experts * parts * capacity; }
};
Values grouped_linear(const Values& x, const Values& w, const Values& counts, const GroupedExtents& extents);
Values grouped_linear_dx(const Values& dy, const Values& w, const Values& counts, const GroupedExtents& extents);
Values grouped_linear_dw(const Values& dy, const Values& x, const Values& counts, const GroupedExtents& extents);

}  // namespace tessera::test::reference
