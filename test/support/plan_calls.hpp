// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a compiled plan communicates: its calls by layer, with the bytes that a rank hands over.
// Used: tests of what a strategy costs.
// Must not know: which strategy is tested.
#pragma once

#include <iosfwd>
#include <map>
#include <span>
#include <string>

#include "core/model/model.hpp"
#include "core/scheduler/plan.hpp"
#include "core/scheduler/strategy.hpp"

namespace tessera::testing_support {

/// The fp32 training plan of one rank, two micro-batches per step. Nothing is allocated or communicated.
Plan training_plan(const ModelConfig& model, const MicroBatch& micro_batch, const Mesh& mesh, int rank,
                   std::span<const Strategy* const> strategies);

struct Calls {
  int count = 0;
  std::int64_t bytes = 0;  ///< of all of them
  friend bool operator==(const Calls&, const Calls&) = default;
};
std::ostream& operator<<(std::ostream& out, const Calls& calls);

/// By the name that the plan prints: "all_reduce(tp)".
using CallsByName = std::map<std::string, Calls>;

/// The calls of one layer in the first program of a kind: the whole forward, or the whole backward.
CallsByName calls_of(const Plan& plan, ProgramKind kind, int layer);

}  // namespace tessera::testing_support
