// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Routers that send every token to one expert, the worst that can come: training goes on under every dispatch, and
// computes what one rank computes. (That memory stays as planned is shown in test/unit/scheduler/memory_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>

#include "test/support/layout_run.hpp"

namespace tessera {
namespace {

using testing_support::LayoutChoice;
using testing_support::TrainingResult;
using testing_support::TrainingShape;

constexpr std::int64_t k_experts = 4, k_batch = 4, k_layers = 2, k_sequence = 16;

/// Scores are equal, and the first experts win: with one choice, expert 0 gets all tokens.
void clear_routers(Engine& engine) {
  for (const TensorPart& part : engine.tensors())
    if (part.group == "model" && part.parameter->field == "router")
      std::fill_n(static_cast<double*>(part.data), part.slab.extent.count(), 0.0);
}

TrainingShape shape_of(const ExpertConfig& experts) {
  TrainingShape shape;
  shape.model = {.layers = k_layers, .hidden = 32, .heads = 4, .ffn = 48, .vocab = 61, .sequence = k_sequence};
  shape.model.experts = experts;
  shape.global_batch = k_batch;
  shape.steps = 2;
  shape.change = clear_routers;
  return shape;
}

ExpertConfig one_choice() {
  return {.count = k_experts, .per_token = 1, .ffn = 24, .renormalise = false, .aux_coefficient = 1e-2};
}

/// Experts on two and four ranks of every kind.
const LayoutChoice k_layouts[]{
    {.data = 2, .expert = 2},
    {.data = 4, .expert = 4},
    {.tensor = 2, .expert = 2},
    {.tensor = 2, .data = 2, .sequence = true, .expert = 4},
    {.tensor = 4, .sequence = true, .expert = 4},
    {.context = 2, .data = 2, .context_strategy = "ring", .expert = 4},
    {.data = 2, .pipeline = 2, .expert = 2},
    {.tensor = 2, .pipeline = 2, .sequence = true, .schedule = "zero_bubble", .expert = 2},
};

const TrainingResult& dropless_on_one_rank() {
  static const TrainingResult result = train_layout(shape_of(one_choice()), {});
  return result;
}

TEST(SkewedRouter, SendsAllTokensToOneExpert) {
  TrainingShape shape = shape_of(one_choice());
  shape.steps = 1;
  const TrainingResult result = train_layout(shape, {});
  for (const ExpertLayerOutcome& layer : result.experts) {
    EXPECT_EQ(layer.load, (std::vector<std::int64_t>{k_batch * k_sequence, 0, 0, 0}));
    EXPECT_EQ(imbalance(layer), k_experts);
    EXPECT_NEAR(layer.balance_loss, 1, 1e-12);
  }
  EXPECT_EQ(result.experts.size(), static_cast<std::size_t>(k_layers));
}

TEST(SkewedRouter, TrainsWithoutADropAsOneRankDoes) {
  const TrainingResult& one = dropless_on_one_rank();
  EXPECT_LT(one.evaluation.loss, one.steps[0].loss);
  for (const LayoutChoice& layout : k_layouts)
    EXPECT_EQ(difference(train_layout(shape_of(one_choice()), layout), one), "") << name_of(layout);
}

/// Memory for an even spread and for half of one: what does not fit follows in further rounds.
TEST(SkewedRouter, TrainsInFurtherRoundsAsOneRankDoes) {
  for (const double rows : {1.0, 0.5}) {
    ExpertConfig experts = one_choice();
    experts.rows = rows;
    EXPECT_EQ(difference(train_layout(shape_of(experts), {}), dropless_on_one_rank()), "") << rows;
    for (const LayoutChoice& layout : k_layouts)
      EXPECT_EQ(difference(train_layout(shape_of(experts), layout), dropless_on_one_rank()), "")
          << name_of(layout) << ", rows " << rows;
  }
}

/// A rank drops what is beyond its capacity, so the numbers are those of one rank where a rank's part of a micro-batch
/// is the same: whole samples, one at a time.
TEST(SkewedRouter, TrainsWithACapacityAsOneRankDoes) {
  for (const double capacity : {1.0, 2.0}) {
    ExpertConfig experts = one_choice();
    experts.capacity = capacity;
    const TrainingResult one = train_layout(shape_of(experts), {});
    EXPECT_EQ(one.steps[0].experts.dropped_share, 1 - capacity / k_experts);
    EXPECT_LT(one.evaluation.loss, one.steps[0].loss);
    for (const LayoutChoice& layout : k_layouts) {
      const TrainingResult other = train_layout(shape_of(experts), layout);
      EXPECT_EQ(other.steps[0].experts.dropped_share, one.steps[0].experts.dropped_share) << name_of(layout);
      EXPECT_LT(other.evaluation.loss, other.steps[0].loss) << name_of(layout);
      EXPECT_TRUE(other.ranks_agree) << name_of(layout);
      if (layout.tensor > 1 || layout.context > 1) continue;
      EXPECT_EQ(difference(other, one), "") << name_of(layout);
    }
  }
}

}  // namespace
}  // namespace tessera
