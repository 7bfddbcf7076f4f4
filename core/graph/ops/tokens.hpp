// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the sequence cut into consecutive pieces of every rank's part, and joined again.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// x s.. (, guide s..) -> pieces of s; attributes::Pieces; views. Without a split of s they are consecutive; else each
/// is made of a piece of every part. Of the guide only the layout counts: pieces of x hold the tokens that its pieces
/// hold.
extern const Op split_tokens;
extern const Op concat_tokens;  ///< pieces -> s..; attributes::Pieces

}  // namespace tessera::ops
