// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the gated unit silu(gate) · up (Shazeer 2020), and its gradient.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op swiglu;       ///< gate ..f, up ..f -> ..f
extern const Op swiglu_grad;  ///< dy ..f, gate ..f, up ..f -> dgate ..f, dup ..f

}  // namespace tessera::ops
