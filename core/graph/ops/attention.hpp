// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  causal attention within documents, any grouping of heads, with its log-sum-exp, and its gradient.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// q sbnd, k tbmd, v tbmd, q_position sb, k_position tb, q_document sb, k_document tb -> o sbnd, lse sbn.
/// A key is visible when its position is not larger and its document is the same; attributes::Attention. With block
/// axes it must also be in the query's block: queries and keys are split alike by these axes before all others, and
/// part i of the queries sees part i of the keys (one turn of ring attention, Liu et al. 2023). The gradients of keys
/// and values are then split by the block axes, and not partial over them.
extern const Op attention;

/// do sbnd, dlse sbn (may be absent), q, k, v, the four integers, o, lse -> dq, dk, dv (Dao et al. 2022).
extern const Op attention_grad;

}  // namespace tessera::ops
