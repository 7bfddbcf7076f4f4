// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/run_state.hpp"

#include <gmock/gmock.h>

#include "test/support/tiny_models.hpp"

namespace tessera::apps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ModelConfig unusual() {
  ModelConfig model = testing_support::with_everything(testing_support::tiny_gpt(), 0.25);
  model.norm_epsilon = 1e-3;
  model.rope_theta = 500;
  model.head_size = 20;
  model.experts = {.count = 8,
                   .per_token = 3,
                   .ffn = 40,
                   .shared_ffn = 24,
                   .interval = 2,
                   .layers = {0, 2, 3},
                   .score = RouterScore::sigmoid,
                   .renormalise = false,
                   .scale = 2.5,
                   .groups = 4,
                   .groups_per_token = 2,
                   .aux_coefficient = 0.5,
                   .z_coefficient = 0.125,
                   .bias = true,
                   .noise = 0.01,
                   .capacity = 1.5};
  return model;
}

TEST(RunStateTest, ReadsBackWhole) {
  for (const ModelConfig& model : {testing_support::tiny_dense(), unusual()}) {
    RunState state;
    state.model = model;
    state.data = {0xfedcba9876543210, 77, true};
    state.progress.step = 5;
    state.settings = "{}";
    const RunState read = read_state(write_state(state), "state.json");
    EXPECT_THAT(model_differences(read.model, model), IsEmpty());
    EXPECT_EQ(read.data, state.data);
    EXPECT_EQ(read.progress, state.progress);
  }
}

TEST(RunStateTest, EveryDifferenceOfTwoModelsIsNamed) {
  EXPECT_EQ(model_differences(testing_support::tiny_dense(), unusual()).size(), 25U);
  ModelConfig other = testing_support::tiny_dense();
  other.heads = 8;
  other.tied = true;
  other.experts.score = RouterScore::sigmoid;
  EXPECT_THAT(model_differences(testing_support::tiny_dense(), other),
              ElementsAre("model.head_dim is 8, the checkpoint has 16", "model.heads is 8, the checkpoint has 4",
                          "model.router_score is sigmoid, the checkpoint has softmax",
                          "model.tied is on, the checkpoint has off"));
}

}  // namespace
}  // namespace tessera::apps
