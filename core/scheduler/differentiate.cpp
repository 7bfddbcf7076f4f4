// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/differentiate.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "core/graph/gradient_scope.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/convert.hpp"

namespace tessera {
namespace {

std::int64_t local_bytes(const Mesh& mesh, const ValueInfo& info) {
  return slab_of(mesh, info.layout, info.type.shape, 0).extent.count() * size_of(info.type.dtype);
}

/// Axes over which a value is replicated while another factor of their stem splits it: over "tp.replica", where ranks
/// share the key heads that "tp.head" splits.
AxisSet replica_axes(const Mesh& mesh, const Layout& layout) {
  AxisSet replicas;
  for (int a = 0; a < mesh.axes(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (!layout.of(axis).is_replicated()) continue;
    for (AxisId other : mesh.factors(mesh.axis(axis).stem))
      if (layout.of(other).is_split()) replicas = replicas | AxisSet::of(axis);
  }
  return replicas;
}

class Differentiator final : public GradientScope {
 public:
  explicit Differentiator(Placer& placer) : placer_(placer), graph_(placer.graph()) {}

  void run(const std::vector<LossRoot>& roots, const std::vector<DirectGradient>& direct) {
    const std::size_t forward = graph_.nodes.size();
    for (const LossRoot& root : roots) cotangents_[graph_.origin(root.loss)].push_back(root.seed);
    placer_.context.phase = Phase::backward;
    for (std::size_t n = forward; n-- > 0;) {
      const Node& node = graph_.nodes[n];
      run_bodies_before(node);
      if (node.repeat && node.op->memory != Memory::in_place)
        bodies_[node.repeat].push_back(n);
      else
        visit(n);
    }
    for (const auto& [times, nodes] : bodies_) run_body(nodes);
    for (const DirectGradient& gradient : direct) {
      placer_.context = *graph_.producer(gradient.value);
      contribute(gradient.parameter, gradient.value);
    }
    for (const int parameter : order_) accumulate_gradient(parameter);
  }

  // GradientScope
  Value input(int i) override {
    const Value v = made_again(node().in[static_cast<std::size_t>(i)]);
    return v ? read_again(v) : v;
  }
  Value output(int i) override { return read_again(made_again(node().out[static_cast<std::size_t>(i)])); }
  Value gradient(int i) override { return gradients_[static_cast<std::size_t>(i)]; }
  const Attributes& attributes() const override { return attributes_; }
  Type type(Value v) const override { return graph_[v].type; }
  bool wanted(int i) const override {
    const Value v = graph_.nodes[node_].in[static_cast<std::size_t>(i)];
    return v && graph_[v].differentiable;
  }
  std::vector<Value> emit_all(const Op& op, std::span<const Value> in, const Attributes& attributes) override {
    return placer_.emit(op, in, attributes);
  }
  Value emit_like(int i, const Op& op, std::initializer_list<Value> in, const Attributes& attributes) override {
    const Layout like = graph_[node().in[static_cast<std::size_t>(i)]].layout;
    return placer_.emit(op, std::span(in.begin(), in.size()), attributes, &like)[0];
  }
  void add(int i, Value contribution) override {
    if (!contribution || !wanted(i)) return;
    const Value origin = graph_.origin(node().in[static_cast<std::size_t>(i)]);
    if (graph_[origin].role == ValueRole::parameter)
      contribute(origin, contribution);
    else if (placer_.context.repeat && !is_made_in_body(origin))
      add_in_body(origin, contribution);
    else
      cotangents_[origin].push_back(contribution);
  }

 private:
  const Node& node() const { return graph_.nodes[node_]; }

  void visit(std::size_t n) {
    node_ = n;
    const Node& forward = graph_.nodes[n];
    if (forward.op->gradient == nullptr || forward.op == &ops::convert) return;
    const bool reached =
        std::any_of(forward.out.begin(), forward.out.end(), [&](Value v) { return cotangents_.contains(v); });
    const bool asked =
        std::any_of(forward.in.begin(), forward.in.end(), [&](Value v) { return v && graph_[v].differentiable; });
    if (!reached || !asked) return;
    placer_.context = backward_of(forward);
    if (forward.op->memory == Memory::in_place) placer_.context.repeat = {};
    attributes_ = forward.attributes;
    gradients_.clear();
    const Op& op = *forward.op;
    const Partials partials = op.memory == Memory::view ? Partials::stay : Partials::are_reduced;
    for (std::size_t o = 0; o < graph_.nodes[n].out.size(); ++o)
      gradients_.push_back(combined(graph_.nodes[n].out[o], partials));
    op.gradient(*this);
  }

  static NodeContext backward_of(const Node& forward) {
    NodeContext context = forward;
    context.phase = Phase::backward;
    return context;
  }

  // Bodies that are repeated. Backward repeats a body too: each round makes its values again and adds what follows from
  // them to gradients that already have a part, so it runs when all else that reads the same values was visited.

  /// Bodies that read what the node makes: its gradient needs theirs.
  void run_bodies_before(const Node& node) {
    for (auto body = bodies_.begin(); body != bodies_.end();) {
      const bool read = std::any_of(body->second.begin(), body->second.end(), [&](std::size_t n) {
        return std::any_of(graph_.nodes[n].in.begin(), graph_.nodes[n].in.end(), [&](Value v) {
          return v && std::find(node.out.begin(), node.out.end(), graph_.origin(v)) != node.out.end();
        });
      });
      if (!read || node.repeat == body->first) {
        ++body;
        continue;
      }
      run_body(body->second);
      body = bodies_.erase(body);
    }
  }

  /// `nodes` from the last to the first.
  void run_body(const std::vector<std::size_t>& nodes) {
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) make_again(*n);
    for (std::size_t n : nodes) visit(n);
    again_.clear();
  }

  void make_again(std::size_t n) {
    const Node forward = graph_.nodes[n];
    placer_.context = backward_of(forward);
    Node node{placer_.context, forward.op, {}, {}, forward.attributes};
    for (Value v : forward.in) node.in.push_back(again_.contains(v) ? made_again(v) : v ? read_again(v) : v);
    for (Value v : forward.out) {
      ValueInfo info = graph_[v];
      info.source = made_again(info.source);
      node.out.push_back(graph_.add_value(std::move(info)));
      again_[v] = node.out.back();
    }
    for (Value v : node.out) graph_[v].counts = made_again(graph_[v].counts);
    graph_.add_node(std::move(node));
  }

  /// What stands for a forward value where backward makes it again.
  Value made_again(Value v) const {
    const auto found = again_.find(v);
    return found == again_.end() ? v : found->second;
  }

  bool is_made_in_body(Value origin) const { return again_.contains(origin); }

  /// Adds to the part of the gradient that the same op made outside the body: it lies alike, and nobody else has it.
  void add_in_body(Value origin, Value contribution) {
    std::vector<Value>& parts = cotangents_[origin];
    const Op* const op = graph_.producer(contribution)->op;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](Value v) {
      return graph_.producer(v)->op == op && graph_[v].layout == graph_[contribution].layout;
    });
    TESSERA_CHECK(part != parts.end(), "a body adds to a gradient that nothing outside it began");
    const Value in[] = {*part, contribution};
    *part = placer_.emit(ops::add_into, in)[0];
  }

  /// What becomes of a gradient that is partial on axes on which the dual of its value is replicated. Through a view it
  /// goes as it is: the pieces of the head's input are reduced together and not each. On replica axes it stays partial
  /// too: the gradients of shared key heads end in that of the block's input, which is reduced once, and in weights'.
  enum class Partials : std::uint8_t { are_reduced, stay };

  /// The sum of what flowed to `v`, in the dual of its layout; none when nothing did.
  Value combined(Value v, Partials partials) {
    const auto found = cotangents_.find(v);
    if (found == cotangents_.end()) return {};
    return sum(found->second, graph_[v].layout.dual(), partials);
  }

  /// Adds contributions of equal splits (partial beside partial stays partial, replicated beside partial is masked),
  /// converts each group once, and adds the groups.
  Value sum(const std::vector<Value>& contributions, const Layout& target, Partials partials) {
    std::vector<Value> groups;
    for (Value c : contributions) {
      auto same = std::find_if(groups.begin(), groups.end(),
                               [&](Value group) { return graph_[group].layout.dual() == graph_[c].layout.dual(); });
      if (same == groups.end())
        groups.push_back(c);
      else
        *same = emit_add(*same, c);
    }
    Value total;
    for (Value group : groups) {
      Layout layout = target;
      AxisSet kept = graph_[group].layout.partial(Merge::sum) - target.split_axes();
      if (partials == Partials::are_reduced) kept = kept & replica_axes(placer_.mesh(), target);
      layout.set_partial(kept, Merge::sum);
      const Value converted = placer_.convert(group, layout);
      total = total ? emit_add(total, converted) : converted;
    }
    return total;
  }

  Value emit_add(Value a, Value b) {
    const Value in[] = {a, b};
    return placer_.emit(ops::add, in)[0];
  }

  /// A forward value as backward reads it: the smallest form that was not partial is the one to keep, and from it the
  /// layout in which forward read the value is made again. This gives the re-gathers of sequence parallelism, of keys
  /// and values, and of sharded parameters.
  Value read_again(Value v) {
    Value best = v;
    for (Value form = graph_[v].source; form; form = graph_[form].source)
      if (!graph_[form].layout.is_partial() &&
          local_bytes(placer_.mesh(), graph_[form]) < local_bytes(placer_.mesh(), graph_[best]))
        best = form;
    return best == v ? v : placer_.convert(best, graph_[v].layout);
  }

  void contribute(Value parameter_value, Value contribution) {
    const auto is_it = [&](const Parameter& p) { return p.value == parameter_value; };
    const auto parameter = std::find_if(graph_.parameters.begin(), graph_.parameters.end(), is_it);
    const auto index = static_cast<int>(parameter - graph_.parameters.begin());
    if (!contributions_.contains(index)) order_.push_back(index);
    contributions_[index].push_back({contribution, placer_.context});
  }

  /// Every stage that holds a parameter adds what its own nodes give: the sum over them is what is still missing.
  void accumulate_gradient(int parameter) {
    const ValueInfo& value = graph_[graph_.parameters[static_cast<std::size_t>(parameter)].value];
    Layout target = value.layout;
    for (const Contribution& c : contributions_[parameter]) {
      const AxisSet extra = graph_[c.value].layout.partial(Merge::sum) - value.layout.split_axes();
      target.set_partial(extra, Merge::sum);
    }
    const auto index = static_cast<std::int32_t>(graph_.accumulators.size());
    Layout layout = target;
    if (value.home.is_shared()) layout.set_partial(AxisSet::of(placer_.mesh().find("pp")), Merge::sum);
    graph_.accumulators.push_back({parameter, {value.type.shape, accumulation_of(value.type.dtype)}, layout, {}});
    for (const Contribution& c : contributions_[parameter]) {
      placer_.context = c.context;
      const Value converted = placer_.convert(c.value, target);
      TESSERA_CHECK(!c.context.repeat || converted == c.value, "a body's gradient of a parameter would be converted");
      accumulate_into(placer_, converted, index);
    }
  }

  struct Contribution {
    Value value;
    NodeContext context;
  };

  Placer& placer_;
  Graph& graph_;
  std::map<Value, std::vector<Value>> cotangents_;
  std::map<int, std::vector<Contribution>> contributions_;  ///< by parameter
  std::vector<int> order_;                                  ///< parameters in order of their first contribution
  std::map<Value, std::vector<std::size_t>> bodies_;        ///< nodes of bodies that wait, from the last to the first
  std::map<Value, Value> again_;                            ///< values of the body that is being run, made again
  std::size_t node_ = 0;
  Attributes attributes_;
  std::vector<Value> gradients_;
};

}  // namespace

std::int32_t add_accumulator(Placer& placer, Value like, const std::string& name) {
  Graph& graph = placer.graph();
  ValueInfo info;
  info.type = graph[like].type;
  info.layout = graph[like].layout;
  info.role = ValueRole::state;
  info.name = name;
  const Value total = graph.add_value(std::move(info));
  graph.accumulators.push_back({-1, graph[like].type, graph[like].layout, total});
  return static_cast<std::int32_t>(graph.accumulators.size() - 1);
}

void accumulate_into(Placer& placer, Value v, std::int32_t accumulator) {
  Graph& graph = placer.graph();
  const Node& producer = *graph.producer(v);
  const auto output = std::find(producer.out.begin(), producer.out.end(), v) - producer.out.begin();
  const bool can = producer.op->accumulates.find(static_cast<char>('0' + output)) != std::string_view::npos;
  if (can && graph[v].accumulator < 0) {
    graph[v].accumulator = accumulator;
    return;
  }
  const Value in[] = {v};
  graph[placer.emit(ops::accumulate, in)[0]].accumulator = accumulator;
}

void differentiate(Placer& placer, const std::vector<LossRoot>& roots, const std::vector<DirectGradient>& direct) {
  Differentiator(placer).run(roots, direct);
}

}  // namespace tessera
