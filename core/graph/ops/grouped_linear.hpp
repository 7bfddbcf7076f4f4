// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the matrices of experts: one product per expert, over the rows that it was given.
// Used: the builder, gradient rules.
// Must not know: kernels, where experts are.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// rows epci, weight eoi, counts i32 ep -> epco. Only the first `counts` rows of each part are read, so c stays whole;
/// what comes out behind them is zero.
extern const Op grouped_linear;
extern const Op grouped_linear_dx;  ///< d epco, weight eoi, counts ep -> epci
extern const Op grouped_linear_dw;  ///< d epco, rows epci, counts ep -> eoi

}  // namespace tessera::ops
