// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  layer normalisation (Ba, Kiros, Hinton 2016) of the last dim, biased variance, and its gradient.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op layer_norm;       ///< x ..h, gain h, bias h -> y ..h, mean .., rstd ..; attributes::Norm
extern const Op layer_norm_grad;  ///< dy ..h, x ..h, mean .., rstd .., gain h -> dx ..h, dgain h, dbias h

}  // namespace tessera::ops
