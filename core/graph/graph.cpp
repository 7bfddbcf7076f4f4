// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.hpp"

#include <fmt/core.h>

namespace tessera {

std::string Parameter::name() const {
  return layer < 0 ? field : fmt::format("layers.{}.{}", layer, field);
}

Value Graph::add_value(ValueInfo info) {
  values.push_back(std::move(info));
  return {static_cast<std::int32_t>(values.size() - 1)};
}

Node& Graph::add_node(Node node) {
  const auto index = static_cast<std::int32_t>(nodes.size());
  nodes.push_back(std::move(node));
  for (Value out : nodes.back().out)
    if (out) (*this)[out].producer = index;
  return nodes.back();
}

Value Graph::origin(Value v) const {
  while ((*this)[v].source) v = (*this)[v].source;
  return v;
}

const Node* Graph::producer(Value v) const {
  const std::int32_t index = (*this)[v].producer;
  return index < 0 ? nullptr : &nodes[static_cast<std::size_t>(index)];
}

}  // namespace tessera
