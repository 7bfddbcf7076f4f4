// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  another layout of the same value: one step of a conversion, inserted by the placer (rule 2).
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// x -> x in another layout; attributes are a ConversionStep. Where x has counts (ValueInfo::counts) and its dims 0 and 1
/// are exchanged, they are inputs too, as they lie before and after: only what is used need move.
extern const Op convert;

}  // namespace tessera::ops
