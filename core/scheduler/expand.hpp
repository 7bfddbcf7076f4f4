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
/// of the node's outputs.
void expand(Placer& placer, std::span<const Strategy* const> strategies);

}  // namespace tessera
