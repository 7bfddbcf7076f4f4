// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a step tells besides its gradients: sums over its micro-batches, made whole on every rank together.
// Used: the scheduler.
// Must not know: what the numbers mean, strategies, addresses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/scheduler/placer.hpp"

namespace tessera {

/// An accumulator for the sum of `parts` (of one type and layout, not empty), which other stages leave at zero. Returns
/// the total.
Value add_total(Placer& placer, std::span<const Value> parts, const std::string& name);

/// The totals, all f64, one behind the other, whole on every rank: one reduction for all of them.
Value add_report(Placer& placer, const std::vector<Value>& totals);

}  // namespace tessera
