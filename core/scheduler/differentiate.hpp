// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that adds the backward graph (rule 3): gradients obey the same two rules as values.
// Used: the scheduler.
// Must not know: any op by name but `add` and `accumulate`; strategies; micro-batches.
#pragma once

#include <string>
#include <vector>

#include "core/scheduler/placer.hpp"

namespace tessera {

/// A loss and the value of its gradient: the seed.
struct LossRoot {
  Value loss;
  Value seed;
};

/// A value of forward that is a parameter's gradient by definition.
struct DirectGradient {
  Value parameter, value;
};

/// Differentiates the placed graph behind `placer`, reverse mode. Conversions are transparent: cotangents are collected
/// on the value before its conversions, added as they come, and converted once to the dual of that value's layout.
///
/// Contributions to the gradient of a parameter keep the parameter's splits and stay partial over the axes over which
/// it is replicated; each is marked to be added into the parameter's accumulator (Graph::accumulators), which the pass
/// makes, in order of first use in backward; parameters with `direct` gradients come after those.
void differentiate(Placer& placer, const std::vector<LossRoot>& roots, const std::vector<DirectGradient>& direct = {});

/// Makes an accumulator that is nobody's gradient and has the type and layout of `like`; its index.
std::int32_t add_accumulator(Placer& placer, Value like, const std::string& name);

/// Marks `v` as added into an accumulator: by its producer where the op can and nobody else took the output, else by a
/// node that is emitted in the placer's context. The layouts must be equal.
void accumulate_into(Placer& placer, Value v, std::int32_t accumulator);

}  // namespace tessera
