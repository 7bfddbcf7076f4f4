// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  emitting ops into a placed graph: asks the op's layout rule and inserts the conversions that follow (rule 2).
// Used: the passes place, differentiate, expand and update (backward ops are placed as they are emitted).
// Must not know: any op by name but `convert` and `receive`, strategies, programs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "core/graph/graph.hpp"

namespace tessera {

class Placer {
 public:
  Placer(Graph& graph, const Mesh& mesh) : graph_(graph), mesh_(mesh) {}

  NodeContext context;  ///< of every node that is emitted

  /// Converts the inputs to what the op's rule asks for, adds the node, and returns its outputs. `hint` as in
  /// LayoutArgs.
  std::vector<Value> emit(const Op& op, std::span<const Value> in, const Attributes& attributes = {},
                          const Layout* hint = nullptr);

  /// `v` in another layout, in the chunk of the context. Conversions are shared within a phase and chunk, never from
  /// forward into backward.
  Value convert(Value v, const Layout& to);

  /// `v` as the context's chunk reads it: a value that another chunk made comes through one `receive`, never partial.
  Value bring(Value v);

  /// For passes that add the nodes of the graph again: what was converted counts only once its node is there.
  void forget_conversions() { forms_.clear(); }
  void remember_conversion(Value form);

  const Mesh& mesh() const { return mesh_; }
  Graph& graph() { return graph_; }

 private:
  using Key = std::tuple<Value, Phase, int>;

  Value find(Value v, const Layout& layout, Phase phase) const;
  Value counts_as(Value counts, const Layout& layout);
  bool differentiable(const Op& op, std::span<const Value> in) const;
  bool crosses(Value v) const;
  Value repeat_of(Value v) const;
  void note_counts(const Op& op, std::span<const Type> types, const Node& node);
  Home home_of(std::span<const Value> in) const;

  Graph& graph_;
  const Mesh& mesh_;
  std::map<Key, std::vector<Value>> forms_;  ///< conversions made so far of a value
  std::map<Key, Value> received_;            ///< and what it is in other chunks
};

}  // namespace tessera
