// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/report.hpp"

#include "core/graph/ops/step.hpp"
#include "core/scheduler/differentiate.hpp"

namespace tessera {
namespace {

constexpr std::size_t k_most_packed = 128;  ///< inputs of one node

/// Neighbours packed together, until one is left.
Value packed(Placer& placer, std::vector<Value> values) {
  while (values.size() > 1) {
    std::vector<Value> fewer;
    for (std::size_t at = 0; at < values.size(); at += k_most_packed)
      fewer.push_back(
          placer.emit(ops::pack, std::span(values).subspan(at, std::min(k_most_packed, values.size() - at)))[0]);
    values = std::move(fewer);
  }
  return values[0];
}

}  // namespace

Value add_total(Placer& placer, std::span<const Value> parts, const std::string& name) {
  Graph& graph = placer.graph();
  const std::int32_t index = add_accumulator(placer, parts[0], name);
  for (Value part : parts) {
    placer.context = *graph.producer(part);
    accumulate_into(placer, part, index);
  }
  Accumulator& accumulator = graph.accumulators[static_cast<std::size_t>(index)];
  if (placer.mesh().stages() > 1)
    for (Layout* layout : {&accumulator.layout, &graph[accumulator.total].layout})
      layout->set_partial(AxisSet::of(placer.mesh().find("pp")), Merge::sum);
  return accumulator.total;
}

Value add_report(Placer& placer, const std::vector<Value>& totals) {
  placer.context = {Phase::update, k_head};
  return placer.convert(packed(placer, totals), Layout{});
}

}  // namespace tessera
