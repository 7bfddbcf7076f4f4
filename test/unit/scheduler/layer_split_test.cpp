// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/layer_split.hpp"

#include <numeric>
#include <random>

#include "core/model/model.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;

LayerCosts equal_layers(int layers, double head) {
  return {0, std::vector<double>(static_cast<std::size_t>(layers), 1.0), head};
}

double cost_of(const LayerCosts& costs, std::size_t begin, std::size_t end) {
  double cost = std::accumulate(costs.layers.begin() + static_cast<std::ptrdiff_t>(begin),
                                costs.layers.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  if (begin == 0) cost += costs.embedding;
  if (end == costs.layers.size()) cost += costs.head;
  return cost;
}

double dearest(const LayerCosts& costs, const std::vector<int>& counts) {
  double maximum = 0;
  std::size_t begin = 0;
  for (int count : counts) {
    const std::size_t end = begin + static_cast<std::size_t>(count);
    maximum = std::max(maximum, cost_of(costs, begin, end));
    begin = end;
  }
  return maximum;
}

/// The cost of the dearest chunk of the best cut, by trying all.
double best_of_all(const LayerCosts& costs, std::size_t begin, int chunks) {
  const std::size_t layers = costs.layers.size();
  if (chunks == 1) return cost_of(costs, begin, layers);
  double best = 1e300;
  for (std::size_t end = begin + 1; end + static_cast<std::size_t>(chunks - 1) <= layers; ++end)
    best = std::min(best, std::max(cost_of(costs, begin, end), best_of_all(costs, end, chunks - 1)));
  return best;
}

TEST(SplitByCost, EqualLayersAreCutEvenly) {
  EXPECT_THAT(split_by_cost(equal_layers(8, 0), 4), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(split_by_cost(equal_layers(5, 0), 1), ElementsAre(5));
  EXPECT_THAT(split_by_cost(equal_layers(3, 0), 3), ElementsAre(1, 1, 1));
}

TEST(SplitByCost, WhatIsLeftGoesToTheLastChunks) {
  EXPECT_THAT(split_by_cost(equal_layers(6, 0), 4), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(split_by_cost(equal_layers(7, 0), 4), ElementsAre(1, 2, 2, 2));
}

TEST(SplitByCost, TheHeadTakesThePlaceOfLayers) {
  EXPECT_THAT(split_by_cost(equal_layers(7, 1), 4), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(split_by_cost(equal_layers(8, 4.5), 3), ElementsAre(3, 4, 1));
  EXPECT_THAT(split_by_cost(equal_layers(4, 100), 3), ElementsAre(1, 2, 1));
}

TEST(SplitByCost, TheEmbeddingCountsToo) {
  LayerCosts costs = equal_layers(6, 0);
  costs.embedding = 2;
  EXPECT_THAT(split_by_cost(costs, 2), ElementsAre(2, 4));
}

TEST(SplitByCost, NoCutIsBetter) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> cost(0.1, 3);
  for (int i = 0; i < 200; ++i) {
    const int chunks = 1 + static_cast<int>(random() % 4);
    LayerCosts costs{cost(random), {}, cost(random)};
    for (int layers = chunks + static_cast<int>(random() % 7); layers > 0; --layers)
      costs.layers.push_back(cost(random));
    const std::vector<int> counts = split_by_cost(costs, chunks);
    ASSERT_EQ(counts.size(), static_cast<std::size_t>(chunks));
    ASSERT_THAT(counts, testing::Each(testing::Ge(1)));
    ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), 0), std::ssize(costs.layers));
    ASSERT_NEAR(dearest(costs, counts), best_of_all(costs, 0, chunks), 1e-8);
  }
}

TEST(SplitByCost, RefusesFewerLayersThanChunks) {
  try {
    split_by_cost(equal_layers(3, 0), 4);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(), testing::HasSubstr("3 layers cannot be cut into 4 chunks"));
  }
}

TEST(ChunkMap, NamesTheChunkOfEachLayer) {
  const ChunkMap map = chunk_map(std::vector<int>{3, 1, 2});
  EXPECT_THAT(map.layers, ElementsAre(0, 0, 0, 1, 2, 2));
  EXPECT_EQ(map.of(k_embedding), 0);
  EXPECT_EQ(map.of(3), 1);
  EXPECT_EQ(map.of(k_head), 2);
}

TEST(LayerCosts, AreTheModelsFlops) {
  ModelConfig config;
  config.layers = 3;
  config.hidden = 16;
  config.heads = config.kv_heads = 4;
  config.ffn = 40;
  config.vocab = 96;
  config.sequence = 8;
  const std::int64_t batch = 2, tokens = config.sequence * batch;
  const ModelGraph model = build_model(config, {config.sequence, batch, 1}, ModelPurpose::train, DType::f32);
  const LayerCosts costs = layer_costs(model.graph);
  ASSERT_EQ(costs.layers.size(), 3U);
  EXPECT_EQ(costs.embedding, 0);
  EXPECT_EQ(costs.head, static_cast<double>(2 * tokens * config.hidden * config.vocab));
  const std::int64_t matrices = 4 * config.hidden * config.hidden + 3 * config.hidden * config.ffn;
  EXPECT_EQ(costs.layers[0], costs.layers[2]);
  EXPECT_GE(costs.layers[0], static_cast<double>(2 * tokens * matrices));
  EXPECT_LE(costs.layers[0], static_cast<double>(2 * tokens * matrices + 4 * tokens * config.sequence * config.hidden));
}

/// Of 8 experts 2 work for a token, so a layer of them costs as a dense one of twice their width, and its router.
TEST(LayerCosts, OnlyTheExpertsThatATokenVisitsCount) {
  ModelConfig config{.layers = 8, .hidden = 16, .heads = 4, .kv_heads = 4, .ffn = 24, .vocab = 96, .sequence = 8};
  config.experts = {.count = 8, .ffn = 24, .layers = {5, 6, 7}};
  const std::int64_t batch = 2, tokens = config.sequence * batch;
  const MicroBatch micro_batch{config.sequence, batch, 1};
  for (const double capacity : {0.0, 0.5, 1.0, 2.0}) {
    config.experts.capacity = capacity;
    const LayerCosts costs = layer_costs(build_model(config, micro_batch, ModelPurpose::train, DType::f32).graph);
    const double matrix = static_cast<double>(2 * tokens * 3 * config.hidden * config.experts.ffn);
    const double router = static_cast<double>(2 * tokens * config.hidden * config.experts.count);
    EXPECT_EQ(costs.layers[0], costs.layers[4]);
    EXPECT_EQ(costs.layers[5], costs.layers[7]);
    const double kept = capacity == 0.5 ? 0.5 : 1;  // the others are dropped
    EXPECT_NEAR(costs.layers[7] - costs.layers[0], (2 * kept - 1) * matrix + router, 1e-6 * matrix) << capacity;
  }
}

}  // namespace
}  // namespace tessera
