// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the sequence cut into consecutive pieces of every rank's part, and joined again.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op split_tokens;   ///< x s.. -> pieces of s; attributes::Pieces; views
extern const Op concat_tokens;  ///< pieces -> s..; attributes::Pieces

}  // namespace tessera::ops
