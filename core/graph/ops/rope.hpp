// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  rotary position embedding (Su et al. 2021), first half of the head dim with the second.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op rope;  ///< x sbnd, position sb -> sbnd; attributes::Rope

}  // namespace tessera::ops
