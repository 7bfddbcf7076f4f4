// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  comparing plans across ranks before the first step: ranks that would call differently are told, not hung.
// Used: the engine (over the world), `plan` and tests (over all ranks of a mesh in one process).
// Must not know: how plans are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera {

/// One call: what must be equal on all who take part.
struct CallSignature {
  CallKind kind = CallKind::all_reduce;  ///< a message is a send on both sides
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::f32;
  std::int64_t count = 0;          ///< logical: of all members together where they hold parts
  std::int64_t slot = 0, key = 0;  ///< with the chunk its place in the order of all calls (DESIGN section 3)
  std::int32_t chunk = 0;
  std::int32_t pad = 0;
  friend bool operator==(const CallSignature&, const CallSignature&) = default;
};

/// Calls that all who make them must make in one order: the collectives of a communicator, or the messages from one
/// rank to another.
struct CallSeries {
  AxisGroup group;
  int from = -1, to = -1;  ///< ranks of the world; -1: collectives
  std::vector<CallSignature> calls;
};

/// The series of a plan, in the order of their first calls.
std::vector<CallSeries> call_series(const Plan& plan, const Mesh& mesh);

/// "call 17 on dp: all_reduce of 1024 f32"
std::string describe(const CallSignature& call, std::size_t index, const std::string& series);

/// Where a plan breaks the order that all ranks follow, so that two ranks could wait for each other; else nothing.
std::optional<std::string> first_inversion(const Plan& plan, const Mesh& mesh);

/// The first difference between what two ranks would call in a series; nothing when they agree.
std::optional<std::string> first_difference(const Plan& a, const Plan& b, const Mesh& mesh, const CallSeries& series);

/// Compares the plans of all ranks of a mesh in one process (by rank): every series among all who take part, and the
/// order of every rank.
std::vector<std::string> verify_plans(const std::vector<const Plan*>& plans, const Mesh& mesh);

/// The same over the world, in messages of fixed size. Throws Error{disagreement} on all ranks, which names the first
/// differing call of both sides. Collective.
void verify_over(Communicator& world, const Plan& plan, const Mesh& mesh);

/// The communicators that any rank names, in one order on all ranks. Collective.
std::vector<AxisGroup> all_communicators(Communicator& world, std::vector<AxisGroup> mine);

}  // namespace tessera
