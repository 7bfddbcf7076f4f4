// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the Gaussian error linear unit (Hendrycks, Gimpel 2016), erf or tanh form, and its gradient.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op gelu;       ///< x ..f -> ..f; attributes::Gelu
extern const Op gelu_grad;  ///< dy ..f, x ..f -> dx ..f; attributes::Gelu

}  // namespace tessera::ops
