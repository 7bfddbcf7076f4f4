// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  root-mean-square normalisation (Zhang, Sennrich 2019) of the last dim, and its gradient.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op rms_norm;       ///< x ..h, gain h -> y ..h, rstd ..; attributes::Norm
extern const Op rms_norm_grad;  ///< dy ..h, x ..h, rstd .., gain h -> dx ..h, dgain h

}  // namespace tessera::ops
