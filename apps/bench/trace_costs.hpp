// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where the time of a step went, op by op, from the executor's trace.
// Used: benchmarks of steps and ops.
// Must not know: models, how times become tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/scheduler/executor.hpp"

namespace tessera::apps {

/// All calls of one op with the same shapes in a step.
struct OpCost {
  std::string op;      ///< "linear_dx", "all_reduce(dp)", "wait"
  std::string shapes;  ///< of inputs and outputs
  std::int64_t calls = 0;
  double flops = 0;             ///< of all calls, where the op counts them
  double bytes = 0;             ///< that they move to and from memory
  std::vector<double> seconds;  ///< of all calls together, one per step
};

class TraceCosts {
 public:
  explicit TraceCosts(const Plan& plan);

  /// The events of one step.
  void add_step(std::span<const TraceEvent> events);

  /// The one with the largest median first.
  std::vector<OpCost> costs() const;

 private:
  std::vector<OpCost> costs_;
  std::vector<std::size_t> cost_of_;  ///< by instruction
};

/// Costs of each op over all its shapes, the largest median first; `shapes` are empty.
std::vector<OpCost> by_op(std::span<const OpCost> costs);

/// How many events a step makes: the capacity that a trace needs.
std::size_t count_events(const Plan& plan);

}  // namespace tessera::apps
