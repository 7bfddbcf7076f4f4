// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the features of a block seen as heads, and back: views.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op split_heads;  ///< sb(nd) -> sbnd; attributes::Heads
extern const Op merge_heads;  ///< sbnd -> sb(nd); attributes::Heads

}  // namespace tessera::ops
