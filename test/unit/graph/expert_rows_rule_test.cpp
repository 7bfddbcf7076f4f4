// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of experts: how many parts and rows there are follows from who holds which tokens, so what is compared is the
// whole way: rows, products of experts, and back, with the gradients, on several ranks and by plain loops.
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/expert_rows.hpp"
#include "core/graph/ops/grouped_linear.hpp"
#include "core/graph/ops/swiglu.hpp"
#include "core/scheduler/differentiate.hpp"
#include "test/support/closeness.hpp"
#include "test/support/naive_executor.hpp"
#include "test/support/reference_experts.hpp"
#include "test/support/reference_ops.hpp"

namespace tessera::test {
namespace {

constexpr std::int64_t k_sequence = 6, k_batch = 2, k_hidden = 4, k_ffn = 3, k_experts = 4, k_choices = 2;
constexpr std::int64_t k_tokens = k_sequence * k_batch;

/// Tokens, what they choose, and the experts.
struct Numbers {
  Values choice;
  Values x = random_values(1, k_tokens* k_hidden);
  Values weights = random_values(2, k_tokens* k_choices);
  Values gate = random_values(3, k_experts*k_ffn*k_hidden), up = random_values(4, k_experts*k_ffn*k_hidden);
  Values down = random_values(5, k_experts* k_hidden* k_ffn);
  Values dy = random_values(6, k_tokens* k_hidden);
};

Values part_of(const Values& all, std::int64_t index, std::int64_t size) {
  return Values(all.begin() + index * size, all.begin() + (index + 1) * size);
}

/// y of every token: Σ over its choices of weight · down · (silu(gate · x) · up · x).
Values by_hand(const Numbers& n) {
  Values y;
  for (std::int64_t token = 0; token < k_tokens; ++token) {
    Values sum(k_hidden, 0.0);
    for (std::int64_t i = token * k_choices; i < (token + 1) * k_choices; ++i) {
      const auto e = static_cast<std::int64_t>(n.choice[static_cast<std::size_t>(i)]);
      const auto product = [&](const Values& x, const Values& w, std::int64_t in, std::int64_t out) {
        return reference::linear(x, part_of(w, e, in * out), 1, in, out);
      };
      const Values x = part_of(n.x, token, k_hidden);
      Values inner = reference::swiglu(product(x, n.gate, k_hidden, k_ffn), product(x, n.up, k_hidden, k_ffn));
      for (double& value : inner) value *= n.weights[static_cast<std::size_t>(i)];
      sum = reference::add(sum, product(inner, n.down, k_ffn, k_hidden));
    }
    y.insert(y.end(), sum.begin(), sum.end());
  }
  return y;
}

/// What is differentiated, in the order of Mixture::parameters.
constexpr Values Numbers::*k_fields[] = {&Numbers::x, &Numbers::weights, &Numbers::gate, &Numbers::up, &Numbers::down};

struct Results {
  Values y;
  std::vector<Values> gradients;
};

/// y and its gradients by central differences.
Results expected(const Numbers& numbers) {
  Results results{by_hand(numbers), {}};
  for (const auto field : k_fields) {
    const auto with = [&](const Values& values) {
      Numbers changed = numbers;
      changed.*field = values;
      return by_hand(changed);
    };
    results.gradients.push_back(numeric_gradient(with, numbers.*field, numbers.dy));
  }
  return results;
}

/// All rows at once, or as many as a capacity holds and the others in a body that is repeated.
enum class Rounds { one, several };

/// The graph of one layer of experts on a mesh, with its backward.
class Mixture {
 public:
  Mixture(const Mesh& mesh, const Layout& tokens, double capacity, Rounds rounds) : mesh_(mesh), placer_(graph_, mesh) {
    Layout experts;
    experts.splits(0).append(mesh.expert_axes());
    const Value x = add_made_parameter({k_sequence, k_batch, k_hidden}, tokens);
    const Value weights = add_made_parameter({k_sequence, k_batch, k_choices}, tokens);
    const Value gate = add_parameter({k_experts, k_ffn, k_hidden}, experts);
    const Value up = add_parameter({k_experts, k_ffn, k_hidden}, experts);
    const Value down = add_parameter({k_experts, k_hidden, k_ffn}, experts);
    choice_ = add_value({{k_sequence, k_batch, k_choices}, DType::i32}, tokens);
    const Attributes record = Attributes::of(attributes::ExpertRows{k_experts, k_choices, capacity});
    const auto round = [&] {
      const auto plan = emit(ops::expert_plan, {choice_}, record);
      const Value rows = emit(ops::take_rows, {x, plan[0], choice_})[0];
      const Value gates = emit(ops::take_gates, {weights, plan[0], choice_})[0];
      const Value gated = emit(ops::grouped_linear, {rows, gate, plan[1]})[0];
      const Value inner = emit(ops::swiglu, {gated, emit(ops::grouped_linear, {rows, up, plan[1]})[0]})[0];
      const Value scaled = emit(ops::row_scale, {inner, gates})[0];
      const Value out = emit(ops::grouped_linear, {scaled, down, plan[1]})[0];
      if (!expert_rows_.first) expert_rows_ = {graph_.producer(out)->in[0], plan[0]};
      return std::pair(emit(ops::put_rows, {out, plan[0], choice_})[0], plan[2]);
    };
    const auto [first, further] = round();
    y_ = first;
    if (rounds == Rounds::several) {
      placer_.context.repeat = placer_.convert(emit(ops::expert_rounds, {further})[0], Layout{});
      y_ = emit(ops::add_into, {first, round().first})[0];
      placer_.context.repeat = {};
    }
    dy_ = add_value(graph_[y_].type, graph_[y_].layout.dual());
    differentiate(placer_, {{y_, dy_}});
  }

  Results run(const Numbers& numbers) const {
    NaiveExecutor executor(graph_, mesh_);
    executor.set(choice_, numbers.choice);
    executor.set(dy_, numbers.dy);
    for (Value zero : zeros_) executor.set(zero, Values(static_cast<std::size_t>(graph_[zero].type.shape.count())));
    for (std::size_t i = 0; i < graph_.parameters.size(); ++i)
      executor.set(graph_.parameters[i].value, numbers.*k_fields[i], i + 1);
    executor.run();
    Results results{executor.assemble(y_), std::vector<Values>(graph_.parameters.size())};
    for (std::size_t a = 0; a < graph_.accumulators.size(); ++a)
      results.gradients[static_cast<std::size_t>(graph_.accumulators[a].parameter)] =
          executor.accumulated(static_cast<std::int32_t>(a));
    return results;
  }

  /// Extents of the index, and the layout in which experts read their rows.
  const Shape& index_shape() const { return graph_[expert_rows_.second].type.shape; }
  const Layout& row_layout() const { return graph_[expert_rows_.first].layout; }

 private:
  Value add_value(const Type& type, const Layout& layout) {
    ValueInfo info;
    info.type = type;
    info.layout = layout;
    info.role = ValueRole::input;
    return graph_.add_value(std::move(info));
  }

  Value add_parameter(const Shape& shape, const Layout& layout) {
    const Value v = add_value({shape, DType::f64}, layout);
    graph_[v].role = ValueRole::parameter;
    graph_[v].differentiable = true;
    Parameter parameter;
    parameter.value = v;
    graph_.parameters.push_back(parameter);
    return v;
  }

  /// What a node makes of a parameter: tokens and their weights are never parameters themselves.
  Value add_made_parameter(const Shape& shape, const Layout& layout) {
    const Value parameter = add_parameter(shape, layout);
    zeros_.push_back(add_value(graph_[parameter].type, layout));
    return emit(ops::add, {parameter, zeros_.back()})[0];
  }

  std::vector<Value> emit(const Op& op, std::initializer_list<Value> in, const Attributes& record = {}) {
    return placer_.emit(op, std::span(in.begin(), in.size()), record);
  }

  Mesh mesh_;
  Graph graph_;
  Placer placer_;
  Value choice_, y_, dy_;
  std::vector<Value> zeros_;
  std::pair<Value, Value> expert_rows_;
};

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh> all{
      Mesh({{"a", "a", 1, true}}),
      Mesh({{"a", "a", 2, true}}),
      Mesh({{"a", "a", 3, true}}),
      Mesh({{"a", "a", 4, true}}),
      Mesh({{"a", "a", 2}}),
      Mesh({{"a", "a", 2, true}, {"b", "b", 2}}),
      Mesh({{"a", "a", 2, true}, {"b", "b", 2, true}}),
  };
  return all;
}

/// Tokens replicated or split on either dim, per axis and in both orders.
std::vector<Layout> token_layouts(const Mesh& mesh) {
  std::vector<Layout> layouts{Layout()};
  for (int a = 0; a < mesh.axes(); ++a) {
    if (mesh.axis(static_cast<AxisId>(a)).size == 1) continue;
    const std::vector<Layout> before = layouts;
    for (const Layout& layout : before)
      for (const int dim : {0, 1}) {
        Layout inner = layout, outer = layout;
        inner.splits(dim).push_back(static_cast<AxisId>(a));
        outer.splits(dim).push_front(static_cast<AxisId>(a));
        layouts.push_back(inner);
        if (inner != outer) layouts.push_back(outer);
      }
  }
  return layouts;
}

enum class Choices { random, one_expert, first_two };

Numbers numbers_of(Choices kind) {
  Numbers numbers;
  numbers.choice = reference::top_k(random_values(7, k_tokens * k_experts), {}, {k_experts, k_choices});
  for (std::size_t i = 0; i < numbers.choice.size(); ++i) {
    if (kind == Choices::one_expert) numbers.choice[i] = i % k_choices == 0 ? 2 : static_cast<double>(i / 2 % 2);
    if (kind == Choices::first_two) numbers.choice[i] = static_cast<double>(i % k_choices);
  }
  return numbers;
}

/// All rows at once, rounds of half as many as an even spread gives, and a body that is never run.
class ExpertRowsRuleTest : public testing::TestWithParam<Choices> {};

TEST_P(ExpertRowsRuleTest, RowsGoToExpertsOnAnyRanksAndBack) {
  const Numbers numbers = numbers_of(GetParam());
  const Results right = expected(numbers);
  for (const Mesh& mesh : meshes())
    for (const Layout& tokens : token_layouts(mesh))
      for (const auto& [capacity, rounds] :
           {std::pair{0.0, Rounds::one}, {0.5, Rounds::several}, {0.0, Rounds::several}}) {
        SCOPED_TRACE(mesh.describe() + ", tokens " + to_string(tokens, mesh) + ", capacity " +
                     std::to_string(capacity));
        const Results results = Mixture(mesh, tokens, capacity, rounds).run(numbers);
        EXPECT_TRUE(close(results.y, right.y, 1e-12));
        for (std::size_t i = 0; i < right.gradients.size(); ++i)
          EXPECT_TRUE(close(results.gradients[i], right.gradients[i], 1e-9)) << "gradient " << i;
      }
}

std::string name_of_choices(const testing::TestParamInfo<Choices>& info) {
  const char* const names[] = {"random", "one_expert", "first_two"};
  return names[static_cast<std::size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Choices, ExpertRowsRuleTest,
                         testing::Values(Choices::random, Choices::one_expert, Choices::first_two), name_of_choices);

/// Experts on four ranks: one part per rank, rows of one expert on each.
TEST(ExpertPartsTest, PartsAreRanksAndExpertsAreSpread) {
  const Mesh mesh({{"a", "a", 4, true}});
  const Mixture split(mesh, Layout({{}, {0}}), 0, Rounds::one), replicated(mesh, Layout(), 0, Rounds::one);
  EXPECT_EQ(split.index_shape(), (Shape{4, 4, 6}));       // batch 2 on four ranks: the fullest one has 6 tokens
  EXPECT_EQ(replicated.index_shape(), (Shape{4, 4, 4}));  // a sequence of 6 on four ranks: two of each sample
  EXPECT_EQ(split.row_layout(), Layout({{0}}));
  EXPECT_EQ(replicated.row_layout(), Layout({{0}}));
}

}  // namespace
}  // namespace tessera::test
