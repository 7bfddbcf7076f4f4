// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  costs of ops as a table, beside what the machine could do.
// Used: the benchmarks `step` and `ops`.
// Must not know: how costs were measured.
#pragma once

#include <span>
#include <string>

#include "apps/bench/trace_costs.hpp"
#include "apps/document.hpp"

namespace tessera::apps {

/// What a thread team of this rank can do at best; 0: unknown.
struct Yardstick {
  double flops = 0;  ///< per second, of matrix products
  double bytes = 0;  ///< per second, of copying
};

/// Seconds that the op's work would take at the yardstick's rates, whichever takes longer.
double least_seconds(const OpCost& cost, const Yardstick& yardstick);

/// What would take less time at these rates, the most first.
std::vector<OpCost> by_excess(std::span<const OpCost> costs, const Yardstick& yardstick);

/// One row per op: calls, time with its spread, share of the step, rates, what it could save. At most `rows` of them.
Table cost_table(std::string key, std::string title, std::span<const OpCost> costs, const Yardstick& yardstick,
                 double step_seconds, std::size_t rows);

}  // namespace tessera::apps
