// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the sum of two values, and adding into an accumulator.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op add;         ///< x .., y .. -> x + y
extern const Op add_into;    ///< x .., y .. -> x, to which y was added: for a body that is repeated
extern const Op accumulate;  ///< x .. -> added into an accumulator, in the accumulation type

}  // namespace tessera::ops
