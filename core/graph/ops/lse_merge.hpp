// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  attention over two sets of keys made one, by the log-sum-exp of each.
// Used: strategies that expand attention, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// o sbnd and lse sbn of one set of keys, then of another -> o, lse of both together:
/// lse = log(e^lse1 + e^lse2), o = o1·e^(lse1 − lse) + o2·e^(lse2 − lse). A set without a visible key has lse = −inf.
extern const Op lse_merge;

/// do, dlse (may be absent), then the inputs and the outputs of the merge -> do1, dlse1, do2, dlse2.
extern const Op lse_merge_grad;

}  // namespace tessera::ops
