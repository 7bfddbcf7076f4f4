// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  comparing plans across ranks before the first step: ranks that would call differently are told, not hung.
// Used: the engine (over the world), tests (over all ranks of a mesh in one process).
// Must not know: how plans are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera {

/// One call as its communicator sees it: what must be equal on all members.
struct CallSignature {
  CallKind kind = CallKind::all_reduce;
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::f32;
  std::int64_t count = 0;  ///< logical: of all members together where they hold parts
  friend bool operator==(const CallSignature&, const CallSignature&) = default;
};

/// The calls of a plan in the order in which it makes them, per communicator (in the order of Plan::communicators).
std::vector<std::vector<CallSignature>> call_sequences(const Plan& plan);

/// "call 17 on dp: all_reduce of 1024 f32"
std::string describe(const CallSignature& call, std::size_t index, const std::string& communicator);

/// The first difference between what two members of a communicator would call; nothing when they agree.
std::optional<std::string> first_difference(const Plan& a, const Plan& b, const Mesh& mesh, AxisSet axes);

/// Compares the plans of all ranks of a mesh in one process: every communicator, every member with the first.
std::vector<std::string> verify_plans(const std::vector<const Plan*>& plans, const Mesh& mesh);

/// Compares digests over the world in fixed-size messages, then throws Error{disagreement} on all ranks that names the
/// ranks and the communicator that differ. Collective.
void verify_over(Communicator& world, const Plan& plan, const Mesh& mesh);

}  // namespace tessera
