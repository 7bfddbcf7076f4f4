// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  multiplicative noise that depends on (seed, site, sample, token, feature) only, so that no layout changes it.
// Used: the builder, gradient rules.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// x sbh, index sb (token's place in its sample), sample b -> sbh, each element times a number of its own that is
/// uniform in [1 - spread, 1 + spread) (Fedus et al. 2021); attributes::Jitter
extern const Op jitter;

}  // namespace tessera::ops
