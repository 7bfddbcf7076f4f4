// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the verifier's comparison over all ranks of a mesh of any size, when many ranks have the same plan.
// Used: `tessera plan`, `tessera verify`.
// Must not know: how plans are made, or which ranks have the same.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <tuple>

#include "core/scheduler/verifier.hpp"

namespace tessera {

/// The axes along which a plan sends messages: along these the coordinate decides with whom.
AxisSet message_axes(const Plan& plan);

/// For each rank the lowest one with the same coordinates on `apart` whose parts of all values in the graphs have the
/// same sizes, so that it makes the same calls where `apart` has all axes along which messages are sent.
std::vector<int> rank_classes(const Mesh& mesh, std::span<const Graph* const> graphs, AxisSet apart);

class WorldVerifier {
 public:
  explicit WorldVerifier(const Mesh& mesh) : mesh_(mesh) {}

  /// Takes what `ranks` call: as in `plan`, each with its own neighbours. The plan is not kept.
  void add(const Plan& plan, std::span<const int> ranks);

  /// Every difference between those who take part in a series of calls, and every plan that breaks the order of all;
  /// empty when all agree. Ranks that were not added count as making no call.
  std::vector<std::string> differences() const;

  std::int64_t ranks() const { return ranks_; }
  std::int64_t series() const { return static_cast<std::int64_t>(members_.size()); }
  std::int64_t calls() const { return calls_; }  ///< of all ranks together

 private:
  /// A series seen from all ranks: group, lowest member, and the direction of messages.
  using Key = std::tuple<AxisGroup, int, int, int>;
  struct Member {
    int rank = 0;
    const CallSeries* series = nullptr;
  };

  Key key_of(const CallSeries& series, int rank) const;
  std::size_t wanted(const Key& key) const;

  const Mesh& mesh_;
  std::deque<std::vector<CallSeries>> lists_;  ///< of each plan
  std::map<Key, std::vector<Member>> members_;
  std::vector<std::string> inversions_;
  std::int64_t ranks_ = 0, calls_ = 0;
};

}  // namespace tessera
