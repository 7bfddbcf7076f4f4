// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  rows of a table by id: token and position embedding.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op embed;       ///< table vh, ids .. -> ..h
extern const Op embed_grad;  ///< dy ..h, ids .. -> dtable vh, in the accumulation type; attributes::Extent

}  // namespace tessera::ops
