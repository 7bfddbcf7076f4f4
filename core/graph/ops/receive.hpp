// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the boundary between chunks of a pipeline: what another chunk made, as this one reads it.
// Used: the placer (emits it where a node reads a value of another chunk), the passes behind it.
// Must not know: stages, schedules.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// x -> x, any dims, never partial. Belongs to the chunk of its reader; its gradient crosses the other way, as one
/// value, already summed over the readers.
extern const Op receive;

}  // namespace tessera::ops
