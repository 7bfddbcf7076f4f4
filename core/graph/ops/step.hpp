// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the scalars of a step: counts, the loss's seed, the gradient's norm and what follows from it.
// Used: the pass that builds the update.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op total;        ///< x .. (floating or i32) -> scalar f64, the sum of all elements
extern const Op pack;         ///< x.., y.., … f64 -> f64 [n], their elements one behind the other
extern const Op loss_seed;    ///< count scalar f64 -> loss scale ÷ count; 0 for a count of 0
extern const Op sum_squares;  ///< x pn -> scalar f64
extern const Op
    step_decision;  ///< sum of squares f64 -> f64 [3]: norm, factor for gradients, 1 to skip; attributes::Clip

}  // namespace tessera::ops
