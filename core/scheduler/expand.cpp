// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/expand.hpp"

#include <map>
#include <utility>

#include "core/graph/ops/convert.hpp"
#include "core/scheduler/differentiate.hpp"

namespace tessera {
namespace {

class Expansion {
 public:
  Expansion(Placer& placer, std::span<const Strategy* const> strategies)
      : placer_(placer), graph_(placer.graph()), strategies_(strategies) {}

  /// All nodes are added again in their order, so that what a strategy emits lies where the node lay.
  void run() {
    std::deque<Node> nodes;
    nodes.swap(graph_.nodes);
    placer_.forget_conversions();
    for (Node& node : nodes) {
      for (Value& v : node.in)
        if (const auto found = replaced_.find(v); found != replaced_.end()) v = found->second;
      placer_.context = {node.phase, node.layer, node.chunk, node.head_chunk};
      if (!replace(node)) add_again(node);
    }
  }

 private:
  void add_again(const Node& node) {
    const Node& added = graph_.add_node(node);
    if (added.op == &ops::convert) placer_.remember_conversion(added.out[0]);
  }

  bool replace(const Node& node) {
    for (const Strategy* strategy : strategies_) {
      std::vector<Value> out;
      if (!strategy->expand(node, placer_, out)) continue;
      TESSERA_CHECK(out.size() == node.out.size(), std::string(node.op->name) + " was expanded to other outputs");
      for (std::size_t o = 0; o < out.size(); ++o) {
        TESSERA_CHECK(graph_[out[o]].layout == graph_[node.out[o]].layout,
                      std::string(node.op->name) + " came out in another layout");
        const std::int32_t accumulator = std::exchange(graph_[node.out[o]].accumulator, -1);
        if (accumulator >= 0) accumulate_into(placer_, out[o], accumulator);
        replaced_[node.out[o]] = out[o];
      }
      return true;
    }
    return false;
  }

  Placer& placer_;
  Graph& graph_;
  std::span<const Strategy* const> strategies_;
  std::map<Value, Value> replaced_;
};

}  // namespace

void expand(Placer& placer, std::span<const Strategy* const> strategies) {
  if (!strategies.empty()) Expansion(placer, strategies).run();
}

}  // namespace tessera
