// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/graph/op_check.hpp"

#include <random>

#include <fmt/core.h>

#include "core/graph/label_rule.hpp"
#include "core/scheduler/placer.hpp"
#include "test/support/closeness.hpp"
#include "test/support/naive_executor.hpp"

namespace tessera::test {
namespace {

/// The graph of one op on a mesh.
struct OpGraph {
  Graph graph;
  std::vector<Value> in, out;

  OpGraph(const Op& op, const OpCase& c, const Mesh& mesh, const Trial& trial) {
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      if (c.in[i].type == k_absent) {
        in.emplace_back();
        continue;
      }
      ValueInfo info;
      info.type = c.in[i].type;
      info.layout = trial.in[i];
      info.role = ValueRole::input;
      info.name = fmt::format("input {}", i);
      in.push_back(graph.add_value(std::move(info)));
    }
    Placer placer(graph, mesh);
    out = placer.emit(op, in, c.attributes, trial.hint ? &*trial.hint : nullptr);
  }
};

std::vector<Values> outputs_of(const Op& op, const OpCase& c, const Mesh& mesh, const Trial& trial) {
  const OpGraph built(op, c, mesh, trial);
  NaiveExecutor executor(built.graph, mesh, {.seed = 3, .loss_scale = 4});
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (built.in[i]) executor.set(built.in[i], c.in[i].values, i + 1);
  executor.run();
  std::vector<Values> result;
  for (Value v : built.out) result.push_back(executor.assemble(v));
  return result;
}

bool is_binding(const OpCase& c, std::size_t input) {
  if (c.op->labels.empty()) return false;
  std::vector<Type> types;
  for (const Operand& operand : c.in) types.push_back(operand.type);
  return labels_of(*c.op, types).binding[input];
}

enum class Partials { none, sum_or_max };

/// Adds to each layout what axis `axis` may do besides.
void extend(std::vector<Layout>& layouts, AxisId axis, int rank, Partials partials) {
  std::vector<Layout> all;
  for (const Layout& layout : layouts) {
    all.push_back(layout);
    for (int dim = 0; dim < rank; ++dim) {
      Layout inner = layout, outer = layout;
      inner.splits(dim).push_back(axis);
      outer.splits(dim).push_front(axis);
      all.push_back(inner);
      if (inner != outer) all.push_back(outer);
    }
    for (Merge merge : {Merge::sum, Merge::max}) {
      const Merge other = merge == Merge::sum ? Merge::max : Merge::sum;
      if (partials == Partials::none || !layout.partial(other).empty()) continue;
      Layout partial = layout;
      partial.set_partial(AxisSet::of(axis), merge);
      all.push_back(partial);
    }
  }
  layouts = std::move(all);
}

std::vector<Layout> all_layouts(const Mesh& mesh, int rank, Partials partials) {
  std::vector<Layout> layouts(1);
  for (int a = 0; a < mesh.axes(); ++a) extend(layouts, static_cast<AxisId>(a), rank, partials);
  return layouts;
}

std::string describe(const Op& op, const OpCase& c, const Mesh& mesh, const Trial& trial) {
  std::string text = fmt::format("{} on {}:", op.name, mesh.describe());
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].type != k_absent)
      text += fmt::format(" {} [{}],", to_string(c.in[i].type.shape), to_string(trial.in[i], mesh));
  if (trial.hint) text += fmt::format(" hint [{}]", to_string(*trial.hint, mesh));
  return text;
}

}  // namespace

OpCase make_case(const Op& op, std::vector<Operand> in, const Attributes& attributes) {
  OpCase c{&op, std::move(in), attributes, {}};
  const Mesh one({{"one", "one", 1}});
  const Trial whole{std::vector<Layout>(c.in.size()), {}};
  const OpGraph built(op, c, one, whole);
  const std::vector<Values> out = outputs_of(op, c, one, whole);
  for (std::size_t o = 0; o < out.size(); ++o) c.out.push_back({built.graph[built.out[o]].type, out[o]});
  return c;
}

std::vector<Layout> legal_layouts(const OpCase& c, std::size_t input, const Mesh& mesh) {
  const Type& type = c.in[input].type;
  if (type == k_absent) return {Layout{}};
  const bool summable = is_floating(type.dtype) && !is_binding(c, input);
  return all_layouts(mesh, type.shape.rank(), summable ? Partials::sum_or_max : Partials::none);
}

std::vector<Trial> trials_of(const OpCase& c, const Mesh& mesh, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Layout>> choices;
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    choices.push_back(legal_layouts(c, i, mesh));
    combinations = std::min(count + 1, combinations * choices.back().size());
  }
  const int rank = c.out.empty() ? 0 : c.out[0].type.shape.rank();
  const std::vector<Layout> hints = all_layouts(mesh, rank, Partials::none);
  std::vector<Trial> trials;
  const auto add = [&](auto layout_of_input) {
    Trial trial;
    for (std::size_t i = 0; i < choices.size(); ++i) trial.in.push_back(layout_of_input(i));
    if (random() % 3 == 0) trial.hint = hints[random() % hints.size()];
    trials.push_back(std::move(trial));
  };
  if (combinations <= count) {
    for (std::size_t t = 0; t < combinations; ++t) {
      std::size_t digits = t;
      add([&](std::size_t i) {
        const Layout layout = choices[i][digits % choices[i].size()];
        digits /= choices[i].size();
        return layout;
      });
    }
    return trials;
  }
  for (std::size_t one = 0; one < choices.size(); ++one)
    for (const Layout& layout : choices[one]) add([&](std::size_t i) { return i == one ? layout : Layout{}; });
  for (std::size_t t = 0; t < count; ++t) add([&](std::size_t i) { return choices[i][random() % choices[i].size()]; });
  return trials;
}

std::string failure_of(const Op& op, const OpCase& c, const Mesh& mesh, const Trial& trial) {
  try {
    const std::vector<Values> out = outputs_of(op, c, mesh, trial);
    for (std::size_t o = 0; o < out.size(); ++o)
      if (const auto result = close(out[o], c.out[o].values, 1e-12); !result)
        return fmt::format("{} output {}: {}", describe(op, c, mesh, trial), o, result.message());
  } catch (const Error& error) {
    return fmt::format("{} {}", describe(op, c, mesh, trial), error.what());
  }
  return {};
}

const std::vector<Mesh>& rule_meshes() {
  static const std::vector<Mesh> meshes{
      Mesh({{"a", "a", 2}}),
      Mesh({{"a", "a", 3}}),
      Mesh({{"a", "a", 4}}),
      Mesh({{"a", "a", 2}, {"b", "b", 2}}),
      Mesh({{"a", "a", 2}, {"b", "b", 3}}),
  };
  return meshes;
}

}  // namespace tessera::test
