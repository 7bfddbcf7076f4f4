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
      placer_.context = node;
      if (node.op == &ops::convert) {
        convert_again(node);
        continue;
      }
      for (Value& v : node.in) v = current(v);
      if (!replace(node)) graph_.add_node(node);
    }
  }

 private:
  /// What stands for a value now, in the layout of that value.
  Value current(Value v) {
    if (const auto form = forms_.find(v); form != forms_.end()) return form->second;
    const auto found = replaced_.find(v);
    return found == replaced_.end() ? v : placer_.convert(found->second, graph_[v].layout);
  }

  /// Steps of one conversion may lead through layouts that the new value need not pass: each is derived from it alone.
  void convert_again(const Node& node) {
    Value first = node.in[0];
    while (!replaced_.contains(first) && graph_[first].source) first = graph_[first].source;
    const Value out = node.out[0];
    if (const auto found = replaced_.find(first); found != replaced_.end()) {
      forms_[out] = placer_.convert(found->second, graph_[out].layout);
      if (forms_[out] != found->second) graph_[forms_[out]].mark = graph_[out].mark;
      return;
    }
    graph_.add_node(node);
    placer_.remember_conversion(out);
  }

  bool replace(const Node& node) {
    for (const Strategy* strategy : strategies_) {
      std::vector<Value> out;
      if (!strategy->expand(node, placer_, out)) continue;
      TESSERA_CHECK(out.size() == node.out.size(), std::string(node.op->name) + " was expanded to other outputs");
      for (std::size_t o = 0; o < out.size(); ++o) {
        const std::int32_t accumulator = std::exchange(graph_[node.out[o]].accumulator, -1);
        if (accumulator >= 0)
          accumulate_into(placer_, placer_.convert(out[o], graph_[node.out[o]].layout), accumulator);
        replaced_[node.out[o]] = out[o];
      }
      return true;
    }
    return false;
  }

  Placer& placer_;
  Graph& graph_;
  std::span<const Strategy* const> strategies_;
  std::map<Value, Value> replaced_;  ///< outputs of expanded nodes -> what took their place
  std::map<Value, Value> forms_;     ///< conversions of those -> the same layout of what took their place
};

}  // namespace

void expand(Placer& placer, std::span<const Strategy* const> strategies) {
  if (!strategies.empty()) Expansion(placer, strategies).run();
}

}  // namespace tessera
