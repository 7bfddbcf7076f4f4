// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the matrix product y = x wᵀ, w of shape [out, in], and its two gradients.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op linear;     ///< x ..i, w oi -> y ..o
extern const Op linear_dx;  ///< dy ..o, w oi -> dx ..i
extern const Op linear_dw;  ///< dy ..o, x ..i -> dw oi, in the accumulation type

}  // namespace tessera::ops
