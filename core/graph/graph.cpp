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

std::vector<std::int32_t> Graph::gradient_accumulators() const {
  std::vector<std::int32_t> of_parameter(parameters.size(), -1);
  for (std::size_t a = 0; a < accumulators.size(); ++a)
    if (const std::int32_t p = accumulators[a].parameter; p >= 0)
      of_parameter[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(a);
  return of_parameter;
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
