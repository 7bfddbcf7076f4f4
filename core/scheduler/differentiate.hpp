// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that adds the backward graph (rule 3): gradients obey the same two rules as values.
// Used: the scheduler.
// Must not know: any op by name but `add` and `accumulate`; strategies; micro-batches.
#pragma once

#include <utility>
#include <vector>

#include "core/scheduler/placer.hpp"

namespace tessera {

/// A loss and the value of its gradient: the seed.
struct LossRoot {
  Value loss;
  Value seed;
};

/// Differentiates the placed graph behind `placer`, reverse mode. Conversions are transparent: cotangents are collected
/// on the value before its conversions, added as they come, and converted once to the dual of that value's layout.
///
/// Contributions to the gradient of a parameter keep the parameter's splits and stay partial over the axes over which it
/// is replicated; each is marked to be added into the parameter's accumulator (Graph::accumulators), which the pass
/// makes, in order of first use in backward. Losses are added into accumulators of their own, which come first.
void differentiate(Placer& placer, const std::vector<LossRoot>& roots);

}  // namespace tessera
