// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/run_state.hpp"

#include <gmock/gmock.h>

#include "core/base/error.hpp"
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

/// The state of a small model, one member of "model" replaced.
std::string damaged(const std::string& name, const std::string& json) {
  RunState state;
  state.model = testing_support::tiny_dense();
  state.settings = "{}";
  std::string text = write_state(state);
  const std::size_t begin = text.find(':', text.find("\"" + name + "\"", text.find("\"model\""))) + 1;
  return text.replace(begin, text.find_first_of(",\n", begin) - begin, json);
}

void expect_refused(const std::string& text, const std::string& words) {
  try {
    (void)read_state(text, "state.json");
    FAIL() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_THAT(error.what(), testing::HasSubstr(words));
  }
}

TEST(RunStateTest, NumbersThatNoModelHasAreDamage) {
  EXPECT_NO_THROW((void)read_state(damaged("layers", "2"), "state.json"));
  expect_refused(damaged("layers", "4611686018427387904"), "model.layers of the checkpoint must be from 1 to 10000");
  expect_refused(damaged("expert_groups", "0"), "model.expert_groups of the checkpoint must be from 1");
  expect_refused(damaged("architecture", "\"lama\""), "model.architecture of the checkpoint must be one of");
  expect_refused(damaged("hidden", "[[1]]"), "model.hidden of the checkpoint must be an integer");
}

TEST(RunStateTest, IntervalsOfFirstVersionsAreReadAndChecked) {
  const auto with_interval = [](const std::string& interval) {
    std::string text = damaged("expert_layers", "\"\", \"expert_interval\": " + interval);
    return text.replace(text.find("\"expert_layers\""), 15, "\"former\"");
  };
  EXPECT_THAT(read_state(with_interval("2"), "state.json").model.experts.layers, ElementsAre(1, 3));
  expect_refused(with_interval("0"), "model.expert_interval of the checkpoint must be from 1");
}

TEST(RunStateTest, NumbersThatAreNotWholeAreDamage) {
  RunState state;
  state.model = testing_support::tiny_dense();
  state.progress.step = 77;
  state.settings = "{}";
  for (const char* number : {"77.5", "1e30", "18446744073709551615", "null", "\"77\""}) {
    std::string text = write_state(state);
    text.replace(text.find("\"step\": 77") + 8, 2, number);
    expect_refused(text, "\"step\" of the checkpoint is not a number of anything");
  }
}

TEST(RunStateTest, BracketsWithoutEndAreDamage) {
  RunState state;
  state.model = testing_support::tiny_dense();
  state.settings = "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"";
  EXPECT_NO_THROW((void)read_state(write_state(state), "state.json")) << "brackets in a text are none";
  expect_refused(std::string(1 << 20, '['), "brackets lie in each other");
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
