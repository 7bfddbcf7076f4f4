// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What a step tells of experts, by itself and where routers are such that it is known: with weights of zero every token
// chooses the first experts.
#include "core/train/expert_outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/support/layout_run.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing_support::LayoutChoice;
using testing_support::TrainingResult;
using testing_support::TrainingShape;

TEST(ExpertOutcome, IsReadFromTheReport) {
  const double report[] = {99, 6, 1, 1, 0, 7, 3, 6, 2, 2, 2, 2};
  const ExpertPlaces layers[] = {{1, 4, 1, 5, 6, 7}, {3, 4, 8}};
  const ExpertStepReport step{layers, report, 2};
  EXPECT_EQ(expert_outcome(step, {.aux_coefficient = 0.01, .z_coefficient = 0.5}),
            (ExpertOutcome{0.015, 1.5, 3, 1.0 / 16}));
  EXPECT_THAT(expert_layers(step), ElementsAre(ExpertLayerOutcome{1, {6, 1, 1, 0}, 1, 1.5, 3},
                                               ExpertLayerOutcome{3, {2, 2, 2, 2}, 0, 0, 0}));
  EXPECT_EQ(imbalance(expert_layers(step)[0]), 3);
  EXPECT_EQ(dropped_share(expert_layers(step)[0]), 0.125);
  EXPECT_EQ(expert_outcome({}, {}), ExpertOutcome{});
}

TEST(ExpertOutcome, WithoutTokensIsNothing) {
  const double report[] = {0, 0, 0};
  const ExpertPlaces layers[] = {{0, 2, 1}};
  EXPECT_EQ(expert_outcome({layers, report, 1}, {}), ExpertOutcome{});
  EXPECT_EQ(imbalance({0, {0, 0}}), 0);
  EXPECT_EQ(dropped_share({0, {0, 0}}), 0);
}

constexpr std::int64_t k_batch = 4, k_sequence = 16, k_tokens = k_batch * k_sequence;

void clear_routers(Engine& engine) {
  for (const TensorPart& part : engine.tensors())
    if (part.group == "model" && part.parameter->field == "router")
      std::fill_n(static_cast<double*>(part.data), part.slab.extent.count(), 0.0);
}

/// Two layers of which the second has four experts; a token sees two of them.
TrainingShape shape_of(double capacity) {
  TrainingShape shape;
  shape.model = {.layers = 2, .hidden = 16, .heads = 4, .ffn = 24, .vocab = 131, .sequence = k_sequence};
  shape.model.experts = {
      .count = 4, .interval = 2, .aux_coefficient = 0.25, .z_coefficient = 0.5, .capacity = capacity};
  shape.global_batch = k_batch;
  shape.change = clear_routers;
  return shape;
}

class ExpertStep : public testing::TestWithParam<LayoutChoice> {};

TEST_P(ExpertStep, CountsEveryChoiceOnce) {
  const TrainingResult result = train_layout(shape_of(0), GetParam());
  ASSERT_EQ(result.experts.size(), 1U);
  const ExpertLayerOutcome& layer = result.experts[0];
  EXPECT_EQ(layer.layer, 1);
  EXPECT_THAT(layer.load, ElementsAre(k_tokens, k_tokens, 0, 0));
  EXPECT_EQ(layer.dropped, 0);
  EXPECT_NEAR(layer.balance_loss, 1, 1e-14);
  EXPECT_NEAR(layer.z_loss, std::pow(std::log(4.0), 2), 1e-14);
  const ExpertOutcome& outcome = result.steps[0].experts;
  EXPECT_EQ(outcome.imbalance, 2);
  EXPECT_EQ(outcome.dropped_share, 0);
  EXPECT_NEAR(outcome.auxiliary_loss, 0.25, 1e-14);
  EXPECT_NEAR(outcome.z_loss, 0.5 * std::pow(std::log(4.0), 2), 1e-14);
  EXPECT_TRUE(result.ranks_agree);
}

/// Of an even spread a rank keeps as many rows for each expert: of two experts that get everything, half.
TEST_P(ExpertStep, TellsWhatACapacityDrops) {
  for (const auto& [capacity, share] : {std::pair(1.0, 0.5), {0.5, 0.75}, {2.0, 0.0}}) {
    const TrainingResult result = train_layout(shape_of(capacity), GetParam());
    ASSERT_EQ(result.experts.size(), 1U);
    EXPECT_EQ(result.steps[0].experts.dropped_share, share);
    EXPECT_EQ(result.experts[0].dropped, static_cast<std::int64_t>(share * 2 * k_tokens));
    EXPECT_THAT(result.experts[0].load, ElementsAre(k_tokens, k_tokens, 0, 0));
  }
}

const LayoutChoice k_layouts[] = {
    {},
    {.data = 2, .expert = 2},
    {.data = 4},
    {.tensor = 2, .expert = 2},
    {.tensor = 2, .data = 2, .sequence = true, .expert = 4},
    {.context = 2, .data = 2, .context_strategy = "ring", .expert = 2},
    {.data = 2, .pipeline = 2, .expert = 2},
};

INSTANTIATE_TEST_SUITE_P(Layouts, ExpertStep, testing::ValuesIn(k_layouts),
                         [](const auto& test) { return "layout" + std::to_string(test.index); });

}  // namespace
}  // namespace tessera
