// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that lets strategies replace a placed op by several: ring attention, a gather fused with its GEMM.
// Used: the scheduler, after differentiate: forward and backward ops are expanded each on their own.
// Must not know: any op by name.
#pragma once

#include <span>

#include "core/scheduler/strategy.hpp"

namespace tessera {

/// Asks every strategy for every node, in order; the nodes that it emits take the node's place, and their values that
/// of the node's outputs. Conversions are transparent: those of a replaced value are derived again, each from the new
/// value straight to the layout that the old one led to. What nobody reads any more (the gathers of what a strategy
/// takes ungathered) is left for the next pass to drop.
void expand(Placer& placer, std::span<const Strategy* const> strategies);

}  // namespace tessera
