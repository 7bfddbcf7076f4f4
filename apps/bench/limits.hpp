// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  how near two parts of a step come to what bounds them: attention to matrix products, the update of weights to
//       memory.
// Used: the benchmark `step`.
// Must not know: how a step is measured.
#pragma once

#include <optional>
#include <string_view>

#include "apps/bench/samples.hpp"
#include "apps/bench/steps.hpp"

namespace tessera::apps {

/// FLOP/s of attention, forward and backward, ÷ FLOP/s of the products alone that were measured beside the same step.
/// Counted are the keys that a query sees in a causal sequence of this length, two products forward and five backward
/// (scores are made again). Nothing where a step has no attention or no products.
std::optional<Spread> attention_over_products(const StepTimes& times, std::int64_t sequence);

/// Bytes per second that the op `update` reads and writes ÷ `bandwidth`. Nothing where a step has no such op.
std::optional<Spread> update_over_memory(const StepTimes& times, std::string_view update, double bandwidth);

}  // namespace tessera::apps
