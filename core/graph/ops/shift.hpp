// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  blocks of tokens that travel round a ring of ranks.
// Used: strategies that expand ops, gradient rules, passes.
// Must not know: how it is communicated, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// x s.. -> x rolled along s by attributes::Shift: cut into as many equal blocks as the axes have ranks, block i
/// becomes block i + by. The axes split s before all others, so that rank i of them sends its whole part to rank i +
/// by.
extern const Op shift;

/// The record of a shift.
Attributes shift_by(AxisSet axes, std::int64_t by);

}  // namespace tessera::ops
