// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  running a placed graph for all ranks of a mesh in one process: every value of every rank has memory of its own,
//       conversions are plain loops, shifts exchange parts, all other nodes are kernels of the host.
// Used: tests of layout rules and of passes; the oracle of plans.
// Must not know: plans, memory, communicators, which op a node is besides these two.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/graph/graph.hpp"
#include "test/support/conversion_interpreter.hpp"
#include "test/support/tensor_value.hpp"

namespace tessera::test {

/// A value as all ranks hold it, by rank.
using RankValues = std::vector<TensorValue>;

/// Cuts a whole value, given in row-major order, into every rank's part under any layout. The summands of a partial one
/// are numbers of `seed` that sum to the value (the smaller ones of a maximum).
RankValues distribute(const Mesh& mesh, const Layout& layout, const Type& type, const Values& whole,
                      std::uint64_t seed);

class NaiveExecutor {
 public:
  NaiveExecutor(const Graph& graph, const Mesh& mesh, const StepInputs& step = {})
      : graph_(graph), mesh_(mesh), step_(step), parts_(graph.values.size()) {}

  /// Gives a value that no node makes. `seed` as in distribute().
  void set(Value v, const Values& whole, std::uint64_t seed = 1);

  /// Runs all nodes in order, bodies as often as their counts say. After each, checks that its outputs have the local
  /// shapes of their layouts, that they were written, and that replicas hold the same bits. Throws Error{internal} that
  /// names the node.
  void run();

  /// The logical value: parts placed, partial ones summed.
  Values assemble(Value v) const;

  /// The sum of all contributions to an accumulator (Graph::accumulators), as a logical value.
  Values accumulated(std::int32_t accumulator) const;

 private:
  void run_node(const Node& node, std::int32_t round);
  void add_to_sum(Value v);
  void run_body(const std::vector<const Node*>& nodes);
  RankValues converted(const Node& node) const;
  RankValues shifted(const Node& node) const;
  std::vector<RankValues> computed(const Node& node, std::int32_t round) const;
  void check(const Node& node, std::size_t output) const;
  testing_support::Parts parts_of(Value v) const;
  Values assemble(const Layout& layout, const Shape& shape, const testing_support::Parts& parts) const;

  const Graph& graph_;
  const Mesh& mesh_;
  StepInputs step_;
  std::vector<RankValues> parts_;                        ///< by value
  std::map<std::int32_t, testing_support::Parts> sums_;  ///< by accumulator
};

}  // namespace tessera::test
