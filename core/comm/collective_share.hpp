// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what each member of a collective call does, where all members' data can be addressed.
// Used: ranks that are threads, and ranks that are processes of one node.
// Must not know: how members meet, whose thread does a member's share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.hpp"

namespace tessera {

/// What one member brings to a collective call.
struct CollectiveCall {
  CallKind kind = CallKind::barrier;
  ReduceOp op = ReduceOp::sum;
  ConstView in = {};
  void* out = nullptr;  ///< split: whatever the implementation wants
  const std::int64_t* send_counts = nullptr;
  const std::int64_t* receive_counts = nullptr;
  int root = -1;
};

/// "all_reduce sum of 1024 f32".
std::string describe(const CollectiveCall& call);

/// Whether the call of member i is the one that member j expects.
bool fits(std::span<const CollectiveCall> calls, std::size_t i, std::size_t j);

/// How sums for all are formed.
enum class Division : std::uint8_t {
  among_members,  ///< each member forms a part, and writes it into everybody's `out`
  each_for_itself
};

/// Memory is kept between calls. Shares of different members never write to the same elements, and no member's share
/// writes what another one's reads.
class CollectiveShare {
 public:
  void reserve(int members);

  /// Does what falls to `member` of calls that fit. all_reduce and agree (a maximum) by `division`: among members it
  /// touches `in` and `out` of all; any other share reads `in` of others and writes its member's own `out`.
  void run(std::span<const CollectiveCall> calls, int member, Division division);

 private:
  void all_reduce(std::span<const CollectiveCall> calls, int member, Division division);
  void reduce_scatter(std::span<const CollectiveCall> calls, int member);
  void take_inputs(std::span<const CollectiveCall> calls);

  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace tessera
