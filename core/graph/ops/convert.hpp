// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  another layout of the same value: one step of a conversion, inserted by the placer (rule 2).
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op convert;  ///< x -> x in another layout; attributes are a ConversionStep

}  // namespace tessera::ops
