// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/order.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera {
namespace {

std::vector<bool> needed_nodes(const Graph& graph, const std::vector<Value>& outputs) {
  std::vector<bool> value_needed(graph.values.size()), node_needed(graph.nodes.size());
  for (Value v : outputs)
    if (v) value_needed[static_cast<std::size_t>(v.id)] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool needed = !node.op->mutates.empty() || std::any_of(node.out.begin(), node.out.end(), [&](Value v) {
      return value_needed[static_cast<std::size_t>(v.id)] || graph[v].accumulator >= 0;
    });
    if (!needed) continue;
    node_needed[n] = true;
    for (Value v : node.in)
      if (v) value_needed[static_cast<std::size_t>(v.id)] = true;
    if (node.repeat) value_needed[static_cast<std::size_t>(node.repeat.id)] = true;
  }
  return node_needed;
}

/// Where a node runs: which program, and which piece of the head inside it.
ProgramKind program_of(const Node& node) {
  switch (node.phase) {
    case Phase::count:
      return ProgramKind::count;
    case Phase::seed:
      return ProgramKind::seed;
    case Phase::forward:
      return ProgramKind::forward;
    case Phase::backward:
      return node.head_chunk >= 0 ? ProgramKind::forward : ProgramKind::backward;
    case Phase::update:
      return ProgramKind::update;
  }
  return ProgramKind::update;
}

/// Nodes of the backward from which nothing leads to another layer or chunk. A body that is repeated stays together.
std::vector<bool> weight_nodes(const Graph& graph, const std::vector<bool>& needed) {
  std::vector<bool> leads_on(graph.values.size()), is_weight(graph.nodes.size());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (!needed[n] || node.phase != Phase::backward) continue;
    is_weight[n] = !node.repeat && std::none_of(node.out.begin(), node.out.end(),
                                                [&](Value v) { return leads_on[static_cast<std::size_t>(v.id)]; });
    for (Value v : node.in) {
      if (!v || graph[v].producer < 0) continue;
      const Node& producer = *graph.producer(v);
      if (!is_weight[n] || producer.layer != node.layer || producer.chunk != node.chunk)
        leads_on[static_cast<std::size_t>(v.id)] = true;
    }
  }
  return is_weight;
}

}  // namespace

void gather_bodies(Graph& graph) {
  using Body = std::pair<Phase, Value>;
  std::map<Body, std::vector<std::size_t>> bodies;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (const Node& node = graph.nodes[n]; node.repeat) bodies[{node.phase, node.repeat}].push_back(n);
  if (bodies.empty()) return;
  std::deque<Node> nodes;
  nodes.swap(graph.nodes);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].repeat) {
      graph.add_node(std::move(nodes[n]));
      continue;
    }
    const std::vector<std::size_t>& body = bodies.at({nodes[n].phase, nodes[n].repeat});
    if (n == body.back())
      for (std::size_t member : body) graph.add_node(nodes[member]);
  }
}

std::vector<NodeList> cut_into_programs(const Graph& graph, const std::vector<Value>& outputs, BackwardCut cut) {
  const std::vector<bool> needed = needed_nodes(graph, outputs);
  std::vector<bool> is_weight(graph.nodes.size());
  if (cut == BackwardCut::split) is_weight = weight_nodes(graph, needed);
  std::map<std::pair<ProgramKind, int>, NodeList> lists;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!needed[n]) continue;
    const Node& node = graph.nodes[n];
    ProgramKind kind = program_of(node);
    if (kind == ProgramKind::backward && is_weight[n]) kind = ProgramKind::weight;
    NodeList& list = lists[{kind, node.chunk}];
    list.kind = kind;
    list.chunk = node.chunk;
    list.nodes.push_back(static_cast<std::int32_t>(n));
  }
  std::vector<NodeList> programs;
  for (auto& [key, list] : lists) {
    // Nodes of pieces of the head by piece, forward before backward; all others before them, as they stand.
    std::stable_sort(list.nodes.begin(), list.nodes.end(), [&](std::int32_t a, std::int32_t b) {
      return graph.nodes[static_cast<std::size_t>(a)].head_chunk < graph.nodes[static_cast<std::size_t>(b)].head_chunk;
    });
    programs.push_back(std::move(list));
  }
  return programs;
}

}  // namespace tessera
