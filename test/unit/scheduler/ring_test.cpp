// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Ring attention in its other form, written into the model and differentiated as ordinary ops: shifts, attention by
// blocks, merges. It keeps every block that passes, so nobody trains with it; it must give the same gradients.
#include <algorithm>

#include "core/base/op_attributes.hpp"
#include "core/graph/label_rule.hpp"
#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/lse_merge.hpp"
#include "core/graph/ops/shift.hpp"
#include "test/support/closeness.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/placed_model.hpp"
#include "test/support/test_strategies.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::test {
namespace {

class MergedRing final : public Strategy {
 public:
  explicit MergedRing(const Mesh& mesh) : axes_(mesh.factors("cp").set()), turns_(mesh.size_of(axes_)) {}

  void transform(Graph& graph) const override {
    std::deque<Node> nodes;
    nodes.swap(graph.nodes);
    for (const Node& node : nodes) {
      if (node.op == &ops::attention)
        go_round(graph, node);
      else
        graph.add_node(node);
    }
  }

  void place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override {
    for (AxisId axis : mesh.factors("cp"))
      if (dims.sequence >= 0) layout.splits(dims.sequence).push_back(axis);
  }

 private:
  void go_round(Graph& graph, const Node& node) const {
    auto record = node.attributes.as<attributes::Attention>();
    record.blocks = axes_.bits();
    std::vector<Value> block{node.in[1], node.in[2], node.in[4], node.in[6]}, merged;
    for (int turn = 0; turn < turns_; ++turn) {
      const std::vector<Value> in{node.in[0], block[0], block[1], node.in[3], block[2], node.in[5], block[3]};
      const auto part = emit(graph, node, ops::attention, in, Attributes::of(record));
      merged = turn == 0 ? part : emit(graph, node, ops::lse_merge, {merged[0], merged[1], part[0], part[1]}, {});
      for (Value& v : block)
        if (turn + 1 < turns_) v = emit(graph, node, ops::shift, {v}, ops::shift_by(axes_, 1))[0];
    }
    Node last = graph.nodes.back();  // the last merge makes the values that the attention made
    graph.nodes.pop_back();
    last.out = node.out;
    graph.add_node(std::move(last));
  }

  static std::vector<Value> emit(Graph& graph, const Node& like, const Op& op, const std::vector<Value>& in,
                                 const Attributes& attributes) {
    std::vector<Type> types;
    for (Value v : in) types.push_back(graph[v].type);
    Node node = like;
    node.op = &op;
    node.in = in;
    node.attributes = attributes;
    node.out.clear();
    for (const Type& type : type_of(op, {types, attributes})) {
      ValueInfo info;
      info.type = type;
      info.name = op.name;
      node.out.push_back(graph.add_value(std::move(info)));
    }
    return graph.add_node(std::move(node)).out;
  }

  AxisSet axes_;
  int turns_;
};

ModelConfig model_of(Architecture architecture) {
  const std::int64_t key_heads = architecture == Architecture::llama ? 2 : 8;
  return testing_support::with_everything(testing_support::uneven_model(architecture, key_heads), 0.2);
}

int count(const PlacedModel& model, const Op& op, Phase phase) {
  const auto& nodes = model.graph().nodes;
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.op == &op && n.phase == phase; }));
}

void expect_equal(const PlacedModel::Result& actual, const PlacedModel::Result& expected) {
  EXPECT_NEAR(actual.loss, expected.loss, 1e-10);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_TRUE(close(actual.gradients.at(name), gradient, 1e-10)) << name;
}

TEST(RingTest, WalkingBackEqualsDifferentiatingTheMerge) {
  const MicroBatch micro_batch{16, 4, 1};
  for (const Architecture architecture : {Architecture::llama, Architecture::gpt}) {
    const ModelConfig config = model_of(architecture);
    const NamedValues inputs = random_inputs(config, micro_batch, 1), weights = random_weights(config, 2);
    const Mesh one({{"tp", "tp", 1}});
    const auto expected = PlacedModel(config, micro_batch, one, {}).run(inputs, weights, 0.02);
    for (const auto& axes : {std::vector<Axis>{{"cp", "cp", 2}},
                             {{"cp", "cp", 4}},
                             {{"cp.inner", "cp", 2}, {"cp.outer", "cp", 2}},
                             {{"tp", "tp", 2}, {"cp", "cp", 2}, {"dp", "dp", 2}}}) {
      const Mesh mesh(axes);
      SCOPED_TRACE(mesh.describe());
      const int turns = mesh.size_of(mesh.factors("cp").set());
      const TensorParallel tensor(config.heads, config.kv_heads, Residual::split);
      const MergedRing merging(mesh);
      const auto walking = context_strategy("ring");
      const DataStrategy data;
      const Strategy* with_merge[] = {&tensor, &merging, &data};
      const Strategy* with_walk[] = {&tensor, walking.get(), &data};
      const PlacedModel merged(config, micro_batch, mesh, with_merge), walked(config, micro_batch, mesh, with_walk);
      expect_equal(merged.run(inputs, weights, 0.02), expected);
      expect_equal(walked.run(inputs, weights, 0.02), expected);

      const int layers = static_cast<int>(config.layers);
      for (const PlacedModel* model : {&merged, &walked}) {
        EXPECT_EQ(count(*model, ops::attention, Phase::forward), layers * turns);
        EXPECT_EQ(count(*model, ops::attention_grad, Phase::backward), layers * turns);
        EXPECT_EQ(count(*model, ops::shift, Phase::forward), layers * 4 * (turns - 1));
      }
      // The merge's gradients come back over the ring; the walk passes blocks on once more, and their gradients home.
      EXPECT_EQ(count(merged, ops::shift, Phase::backward), layers * 2 * (turns - 1));
      EXPECT_EQ(count(walked, ops::shift, Phase::backward), layers * (4 * (turns - 1) + 2 * turns));
      EXPECT_EQ(count(walked, ops::lse_merge_grad, Phase::backward), 0);
    }
  }
}

}  // namespace
}  // namespace tessera::test
