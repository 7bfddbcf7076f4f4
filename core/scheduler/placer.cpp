// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/placer.hpp"

#include "core/graph/label_rule.hpp"
#include "core/graph/ops/convert.hpp"
#include "core/graph/ops/receive.hpp"
#include "core/mesh/conversion.hpp"

namespace tessera {

std::vector<Value> Placer::emit(const Op& op, std::span<const Value> given, const Attributes& attributes,
                                const Layout* hint) {
  std::vector<Value> in;
  for (Value v : given) in.push_back(v ? bring(v) : v);
  std::vector<Type> types;
  std::vector<Layout> layouts;
  const auto present = std::make_unique<bool[]>(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    present[i] = static_cast<bool>(in[i]);
    types.push_back(in[i] ? graph_[in[i]].type : k_absent);
    layouts.push_back(in[i] ? graph_[in[i]].layout : Layout{});
  }
  const LayoutAnswer answer =
      layout_of(op, {mesh_, layouts, std::span(present.get(), in.size()), types, attributes, hint});
  const std::vector<Type> out_types = answer.types.empty() ? type_of(op, {types, attributes}) : answer.types;

  Node node{context, &op, {}, {}, attributes};
  for (std::size_t i = 0; i < in.size(); ++i) node.in.push_back(in[i] ? convert(in[i], answer.in[i]) : Value{});
  for (std::size_t o = 0; o < out_types.size(); ++o) {
    ValueInfo info;
    info.type = out_types[o];
    info.layout = answer.out[o];
    info.name = op.name;
    info.differentiable = differentiable(op, in);
    info.home = home_of(in);
    node.out.push_back(graph_.add_value(std::move(info)));
  }
  note_counts(op, types, node);
  return graph_.add_node(std::move(node)).out;
}

/// Outputs whose first three dims have the labels of an input's keep its counts.
void Placer::note_counts(const Op& op, std::span<const Type> types, const Node& node) {
  if (op.counts >= 0) graph_[node.out[0]].counts = node.out[static_cast<std::size_t>(op.counts)];
  if (op.labels.empty()) return;
  const auto dims = [](const std::string& word) { return word.substr(0, 3); };
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    if (!node.in[i] || !graph_[node.in[i]].counts) continue;
    const Labels labels = labels_of(op, types);
    for (std::size_t o = 0; o < node.out.size(); ++o)
      if (node.out[o] && dims(labels.out[o]) == dims(labels.in[i]))
        graph_[node.out[o]].counts = graph_[node.in[i]].counts;
  }
}

bool Placer::differentiable(const Op& op, std::span<const Value> in) const {
  if (op.gradient == nullptr || context.phase != Phase::forward) return false;
  for (Value v : in)
    if (v && graph_[v].differentiable) return true;
  return false;
}

Value Placer::find(Value v, const Layout& layout, Phase phase) const {
  const auto forms = forms_.find({v, phase, context.chunk});
  if (forms == forms_.end()) return {};
  for (Value form : forms->second)
    if (graph_[form].layout == layout) return form;
  return {};
}

void Placer::remember_conversion(Value form) {
  Value first = graph_[form].source;
  forms_[{first, context.phase, context.chunk}].push_back(form);
  while (graph_[first].source) {
    first = graph_[first].source;
    forms_[{first, context.phase, context.chunk}].push_back(form);
  }
}

/// What is computed from a parameter's bucket in the update is where the bucket is.
Home Placer::home_of(std::span<const Value> in) const {
  if (context.phase == Phase::update)
    for (Value v : in)
      if (v && !graph_[v].home.everywhere()) return graph_[v].home;
  return {};
}

bool Placer::crosses(Value v) const {
  const Node* producer = graph_.producer(v);
  auto in_chunk = [](Phase phase) { return phase == Phase::forward || phase == Phase::backward; };
  return producer != nullptr && in_chunk(producer->phase) && in_chunk(context.phase) &&
         producer->chunk != context.chunk;
}

Value Placer::bring(Value v) {
  if (!crosses(v)) return v;
  const Key key{v, context.phase, context.chunk};
  if (const auto made = received_.find(key); made != received_.end()) return made->second;
  const NodeContext here = context;
  context = *graph_.producer(v);
  const Value sent = convert(v, graph_[v].layout.dual());
  context = here;
  ValueInfo info = graph_[sent];
  info.source = {};
  info.mark = Mark::none;
  info.accumulator = -1;
  info.name = ops::receive.name;
  const Value received = graph_.add_value(std::move(info));
  graph_.add_node({{here.phase, here.layer, here.chunk}, &ops::receive, {sent}, {received}, {}});
  return received_[key] = received;
}

/// Counts are small, and kernels of backward read those of forward too: they are kept.
Value Placer::counts_as(Value counts, const Layout& layout) {
  const Value made = find(counts, layout, Phase::forward);
  return made ? made : convert(counts, layout);
}

/// A body converts only what it makes itself: other values are converted once, before it.
Value Placer::repeat_of(Value v) const {
  const Node* producer = graph_.producer(v);
  return producer != nullptr && producer->repeat == context.repeat ? context.repeat : Value{};
}

Value Placer::convert(Value v, const Layout& to) {
  v = bring(v);
  if (graph_[v].layout == to) return v;
  if (const Value made = find(v, to, context.phase)) return made;
  Value now = v;
  for (const Conversion& conversion : plan_conversion(mesh_, graph_[v].layout, to)) {
    if (const Value made = find(v, conversion.after, context.phase)) {  // a form on the way was already made
      now = made;
      continue;
    }
    ValueInfo info = graph_[now];
    info.layout = conversion.after;
    info.role = ValueRole::activation;
    info.mark = Mark::none;
    info.accumulator = -1;
    info.source = now;
    const Value next = graph_.add_value(std::move(info));
    std::vector<Value> in{now};
    if (conversion.step.kind == ConversionStep::Kind::all_to_all && graph_[v].counts)
      for (const Layout& layout : {graph_[now].layout, conversion.after})
        in.push_back(counts_as(graph_[v].counts, Layout{layout.splits(0), layout.splits(1)}));
    NodeContext at = context;
    at.repeat = repeat_of(v);
    graph_.add_node({at, &ops::convert, std::move(in), {next}, Attributes::of(conversion.step)});
    forms_[{v, context.phase, context.chunk}].push_back(next);
    now = next;
  }
  return now;
}

}  // namespace tessera
