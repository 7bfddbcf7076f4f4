// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/place.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace tessera {
namespace {

TokenDims token_dims(const Type& type) {
  switch (type.shape.rank()) {
    case 0:
      return {};
    case 1:
      return {-1, 0};
    default:
      return {0, 1};
  }
}

/// Throws Error{configuration} where a layout names an axis twice: a strategy was named twice, or two do the same work.
void check_axes_once(const Layout& layout, const Mesh& mesh, const std::string& name) {
  AxisSet seen;
  for (int dim = 0; dim < Shape::k_max_rank; ++dim)
    for (AxisId axis : layout.splits(dim)) {
      if (seen.has(axis))
        throw Error(ErrorKind::configuration,
                    fmt::format("two strategies split {} over {}", name, mesh.axis(axis).name),
                    "name each strategy once, and one for each kind of parallelism: see strategy.data, "
                    "strategy.context and strategy.extra");
      seen = seen | AxisSet::of(axis);
    }
}

class PlacePass {
 public:
  PlacePass(Placed& placed, Placer& placer, const Graph& logical, std::span<const Strategy* const> strategies,
            const ChunkMap& chunks)
      : placed_(placed), placer_(placer), logical_(logical), strategies_(strategies), chunks_(chunks) {}

  void run() {
    for (Value v : logical_.inputs) add_input(v);
    for (const Parameter& parameter : logical_.parameters) add_parameter(parameter);
    for (std::size_t v = 0; v < logical_.values.size(); ++v)
      if (logical_.values[v].role == ValueRole::state) add_state({static_cast<std::int32_t>(v)});
    for (const Node& node : logical_.nodes) {
      placer_.context = {Phase::forward, node.layer, chunks_.of(node.layer), node.head_chunk};
      if (node.repeat) placer_.context.repeat = repeat(node.repeat);
      add_node(node);
    }
  }

 private:
  void add_input(Value v) {
    ValueInfo info = logical_[v];
    for (const Strategy* strategy : strategies_)
      strategy->place_input(info.name, token_dims(info.type), placer_.mesh(), info.layout);
    check_axes_once(info.layout, placer_.mesh(), "input " + info.name);
    placed_.graph.inputs.push_back(placed_.graph.add_value(std::move(info)));
    placed_.values[v] = placed_.graph.inputs.back();
  }

  void add_parameter(Parameter parameter) {
    ValueInfo info = logical_[parameter.value];
    for (const Strategy* strategy : strategies_)
      strategy->place_parameter(parameter, info.type.shape, placer_.mesh(), info.layout);
    check_axes_once(info.layout, placer_.mesh(), "parameter " + info.name);
    if (!chunks_.stages.empty()) info.home = home_of(parameter.value);
    const Value placed = placed_.graph.add_value(std::move(info));
    placed_.values[parameter.value] = placed;
    parameter.value = placed;
    placed_.graph.parameters.push_back(std::move(parameter));
  }

  /// The stages whose nodes read it: two for a table that the embedding and the head share.
  Home home_of(Value parameter) const {
    Home home;
    for (const Node& node : logical_.nodes)
      if (std::find(node.in.begin(), node.in.end(), parameter) != node.in.end())
        home = home | Home::of(chunks_.stage(chunks_.of(node.layer)));
    return home;
  }

  void add_state(Value v) { placed_.values[v] = placed_.graph.add_value(logical_[v]); }

  /// The host reads it, so all ranks that take part in the body hold it.
  Value repeat(Value times) { return placer_.convert(placed_.values.at(times), Layout{}); }

  void add_node(const Node& node) {
    std::vector<Value> in;
    for (Value v : node.in) in.push_back(v ? placed_.values.at(v) : Value{});
    const std::vector<Value> out = placer_.emit(*node.op, in, node.attributes);
    for (std::size_t o = 0; o < out.size(); ++o)
      placed_.values[node.out[o]] = marked(out[o], logical_[node.out[o]].mark);
  }

  /// A marked value is a form that may be saved, so it is never partial; strategies may ask for more.
  Value marked(Value v, Mark mark) {
    if (mark == Mark::none) return v;
    Layout layout = placed_.graph[v].layout.dual();
    for (const Strategy* strategy : strategies_)
      strategy->place_value(mark, placed_.graph[v].type, placer_.mesh(), layout);
    const Value converted = placer_.convert(v, layout);
    placed_.graph[converted].mark = mark;
    return converted;
  }

  Placed& placed_;
  Placer& placer_;
  const Graph& logical_;
  std::span<const Strategy* const> strategies_;
  const ChunkMap& chunks_;
};

}  // namespace

int ChunkMap::of(int layer) const {
  if (layers.empty()) return 0;
  if (layer < 0) return layers.front();
  if (layer >= static_cast<int>(layers.size())) return layers.back();
  return layers[static_cast<std::size_t>(layer)];
}

void place(Placed& placed, Placer& placer, const Graph& logical, std::span<const Strategy* const> strategies,
           const ChunkMap& chunks) {
  PlacePass(placed, placer, logical, strategies, chunks).run();
}

}  // namespace tessera
