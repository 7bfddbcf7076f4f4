// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the sum of token losses that count, and the spreading of its gradient.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op masked_sum;  ///< x .., mask .. -> scalar f64
extern const Op spread;      ///< d scalar f64, mask .. -> d · mask .., in the mask's type

}  // namespace tessera::ops
