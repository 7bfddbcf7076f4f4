// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  causal attention of a few new tokens over all tokens so far, whose keys and values are kept.
// Used: the transform that turns a model into one that generates text.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// q sbnd, k and v sbmd, key_cache and value_cache tbmd -> o sbnd; attributes::Attention. Writes k and v into the
/// caches at StepInputs::position and attends to everything up to each query's own place.
extern const Op cached_attention;

}  // namespace tessera::ops
