// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  dropout whose mask depends on (seed, site, sample, token, feature) only, so that no layout changes it.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op dropout;  ///< x sbh, index sb (token's place in its sample), sample b -> sbh; attributes::Dropout

}  // namespace tessera::ops
