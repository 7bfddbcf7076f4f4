// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  adding a vector to every row, and the vector's gradient.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op add_bias;   ///< x ..o, c o -> ..o
extern const Op bias_grad;  ///< dy ..o -> dc o, in the accumulation type

}  // namespace tessera::ops
