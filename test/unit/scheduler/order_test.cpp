// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/order.hpp"

#include "test/support/context_strategies.hpp"
#include "test/support/placed_model.hpp"
#include "test/support/test_strategies.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::test {
namespace {

ModelConfig tiny(Architecture architecture) {
  ModelConfig config = testing_support::with_everything(testing_support::even_model(), 0.1);
  config.architecture = architecture;
  config.sequence = 32;
  return config;
}

/// Reads of values that no earlier node of the programs has made.
std::vector<std::string> reads_before_writes(const Graph& graph, const std::vector<NodeList>& programs) {
  std::vector<bool> made(graph.values.size());
  std::vector<std::string> wrong;
  for (std::size_t v = 0; v < made.size(); ++v) made[v] = graph.values[v].producer < 0;
  for (const NodeList& list : programs) {
    for (std::int32_t n : list.nodes) {
      const Node& node = graph.nodes[static_cast<std::size_t>(n)];
      for (Value v : node.in)
        if (v && !made[static_cast<std::size_t>(v.id)])
          wrong.push_back(std::string(node.op->name) + " reads " + graph[v].name);
      for (Value v : node.out) made[static_cast<std::size_t>(v.id)] = true;
    }
  }
  return wrong;
}

/// The backward of a piece of the head moves before the forward of the next piece; nothing that it reads may stay
/// behind.
TEST(OrderTest, NoNodeReadsBeforeItsInputsAreMade) {
  const std::vector<std::vector<Axis>> grids{{{"tp", "tp", 1}},
                                             {{"tp", "tp", 2}},
                                             {{"tp.replica", "tp", 2}, {"tp.head", "tp", 2}},
                                             {{"tp", "tp", 2}, {"cp", "cp", 2}, {"dp", "dp", 2}}};
  for (const Architecture architecture : {Architecture::llama, Architecture::gpt}) {
    for (const std::vector<Axis>& axes : grids) {
      const ModelConfig config = tiny(architecture);
      const TensorParallel replicated(config.heads, config.kv_heads, Residual::replicated),
          split(config.heads, config.kv_heads, Residual::split);
      const UnmarkedTensorParallel unmarked(split);
      for (const Strategy* tensor : std::initializer_list<const Strategy*>{&replicated, &split, &unmarked}) {
        for (const std::string& attention : context_strategies()) {
          const Mesh mesh(axes);
          const auto context = context_strategy(attention);
          const DataStrategy data;
          const Strategy* strategies[] = {tensor, context.get(), &data};
          const PlacedModel model(config, {32, 4, 4}, mesh, strategies);
          std::vector<NodeList> programs = cut_into_programs(model.graph(), {});
          EXPECT_THAT(reads_before_writes(model.graph(), programs), testing::IsEmpty()) << mesh.describe();
          std::reverse(programs.back().nodes.begin(), programs.back().nodes.end());
          EXPECT_THAT(reads_before_writes(model.graph(), programs), testing::Not(testing::IsEmpty()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
