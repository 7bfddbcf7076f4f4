// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/expand.hpp"

#include <algorithm>

#include "core/base/op_attributes.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/convert.hpp"
#include "core/graph/ops/linear.hpp"
#include "core/graph/ops/rope.hpp"
#include "core/graph/ops/tokens.hpp"
#include "core/mesh/conversion.hpp"
#include "core/scheduler/order.hpp"
#include "modules/strategy/context_allgather/context_allgather.hpp"
#include "modules/strategy/context_ring/context_ring.hpp"
#include "test/support/closeness.hpp"
#include "test/support/placed_model.hpp"
#include "test/support/test_strategies.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::test {
namespace {

/// Turns, turns and turns back; takes the gradient of a weight from each half of the tokens. The sum of the halves
/// comes from an op that cannot add into the gradient's memory, as that of the whole could.
class ExpandingStrategy final : public Strategy {
 public:
  bool expand(const Node& node, Placer& placer, std::vector<Value>& out) const override {
    if (node.op == &ops::rope) {
      auto back = node.attributes.as<attributes::Rope>();
      back.sign = -back.sign;
      Value x = node.in[0];
      for (const Attributes& turn : {node.attributes, node.attributes, Attributes::of(back)})
        x = placer.emit(ops::rope, std::vector{x, node.in[1]}, turn)[0];
      out = {x};
      return true;
    }
    if (node.op != &ops::linear_dw) return false;
    const Attributes two = Attributes::of(attributes::Pieces{2});
    const auto dy = placer.emit(ops::split_tokens, std::vector{node.in[0]}, two);
    const auto x = placer.emit(ops::split_tokens, std::vector{node.in[1], node.in[0]}, two);
    const Layout layout = placer.graph()[node.out[0]].layout;
    std::vector<Value> halves;
    for (std::size_t i = 0; i < 2; ++i)
      halves.push_back(placer.convert(placer.emit(ops::linear_dw, std::vector{dy[i], x[i]}, {}, &layout)[0], layout));
    out = {placer.emit(ops::add, halves)[0]};
    return true;
  }
};

std::map<std::string_view, int> count_ops(const Graph& graph) {
  std::map<std::string_view, int> count;
  for (const Node& node : graph.nodes) ++count[node.op->name];
  return count;
}

/// Takes keys and values as a rank holds them and gives their gradients like that, as gathers and scatters of its own.
class LocalAttentionGradient final : public Strategy {
 public:
  bool expand(const Node& node, Placer& placer, std::vector<Value>& out) const override {
    if (node.op != &ops::attention_grad) return false;
    out = placer.emit(*node.op, node.in, node.attributes);
    for (const std::size_t gradient : {std::size_t{1}, std::size_t{2}}) {
      const Layout local = placer.graph()[placer.graph().origin(node.in[gradient + 2])].layout;
      EXPECT_NE(local, placer.graph()[out[gradient]].layout);
      out[gradient] = placer.convert(out[gradient], local);
    }
    return true;
  }
};

/// Collectives of layer 1 in the programs, and of what the graph holds besides.
struct Collectives {
  int live = 0, all = 0;
};
Collectives collectives_of(const Graph& graph) {
  const auto is_collective = [&](const Node& node) {
    return node.op == &ops::convert && communicates(node.attributes.as<ConversionStep>().kind) && node.layer == 1;
  };
  Collectives count;
  count.all = static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), is_collective));
  for (const NodeList& list : cut_into_programs(graph, {}))
    for (std::int32_t n : list.nodes) count.live += is_collective(graph.nodes[static_cast<std::size_t>(n)]);
  return count;
}

/// An expansion comes out in another layout: what followed from the old one is derived again from the new one.
TEST(ExpandTest, ConversionsOfAnExpandedNodeAreDerivedAgain) {
  const MicroBatch micro_batch{16, 2, 1};
  const NamedValues inputs = random_inputs(testing_support::even_model(), micro_batch, 1),
                    weights = random_weights(testing_support::even_model(), 2);
  const Mesh one({{"tp", "tp", 1}});
  const auto expected = PlacedModel(testing_support::even_model(), micro_batch, one, {}).run(inputs, weights, 0.1);
  const Mesh mesh({{"tp", "tp", 2}, {"cp", "cp", 2}, {"dp", "dp", 1}});
  const TensorParallel tensor(testing_support::even_model().heads, testing_support::even_model().kv_heads,
                              Residual::split);
  const ContextAllgather context;
  const LocalAttentionGradient local;
  const Strategy* strategies[] = {&tensor, &context, &local};
  const PlacedModel plain(testing_support::even_model(), micro_batch, mesh, std::span(strategies).first(2));
  const PlacedModel expanded(testing_support::even_model(), micro_batch, mesh, strategies);
  // Of the scatters of two gradients each was emitted by the strategy, and none is left from before.
  EXPECT_EQ(collectives_of(expanded.graph()).live, collectives_of(plain.graph()).live);
  EXPECT_EQ(collectives_of(expanded.graph()).all, collectives_of(plain.graph()).all);
  const auto actual = expanded.run(inputs, weights, 0.1);
  EXPECT_NEAR(actual.loss, expected.loss, 1e-10);
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_TRUE(close(actual.gradients.at(name), gradient, 1e-10)) << name;
}

/// A ring takes keys ungathered: their gathers stay in the graph, and in no program.
TEST(ExpandTest, GathersThatNobodyReadsAreDropped) {
  const Mesh mesh({{"tp", "tp", 1}, {"cp", "cp", 2}, {"dp", "dp", 1}});
  const ContextRing ring;
  const Strategy* strategies[] = {&ring};
  const PlacedModel model(testing_support::even_model(), {16, 2, 1}, mesh, strategies);
  EXPECT_EQ(collectives_of(model.graph()).live, 0);
  EXPECT_EQ(collectives_of(model.graph()).all, 6);  // keys and values, in backward positions and documents
}

TEST(ExpandTest, ExpandedNodesComputeTheSame) {
  const MicroBatch micro_batch{16, 2, 2};
  const NamedValues inputs = random_inputs(testing_support::even_model(), micro_batch, 1),
                    weights = random_weights(testing_support::even_model(), 2);
  const Mesh one({{"tp", "tp", 1}});
  const auto expected = PlacedModel(testing_support::even_model(), micro_batch, one, {}).run(inputs, weights, 0.1);
  const Mesh mesh({{"tp", "tp", 2}, {"cp", "cp", 2}, {"dp", "dp", 2}});
  for (const Residual residual : {Residual::replicated, Residual::split}) {
    const TensorParallel tensor(testing_support::even_model().heads, testing_support::even_model().kv_heads, residual);
    const ContextAllgather context;
    const DataStrategy data;
    const ExpandingStrategy expanding;
    const Strategy* strategies[] = {&tensor, &context, &data, &expanding};
    const PlacedModel plain(testing_support::even_model(), micro_batch, mesh, std::span(strategies).first(3));
    const PlacedModel expanded(testing_support::even_model(), micro_batch, mesh, strategies);
    auto before = count_ops(plain.graph()), after = count_ops(expanded.graph());
    EXPECT_EQ(after["rope"], 3 * before["rope"]);
    EXPECT_EQ(after["linear_dw"], 2 * before["linear_dw"]);
    EXPECT_EQ(after["accumulate"], before["accumulate"] + before["linear_dw"]);

    const auto actual = expanded.run(inputs, weights, 0.1);
    EXPECT_NEAR(actual.loss, expected.loss, 1e-10);
    for (const auto& [name, gradient] : expected.gradients)
      EXPECT_TRUE(close(actual.gradients.at(name), gradient, 1e-10)) << name;
  }
}

}  // namespace
}  // namespace tessera::test
