// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Ten training steps equal PyTorch's, on 1 to 4 data-parallel ranks and every cut of the global batch.
#include <fstream>
#include <mutex>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/reference_formulas.hpp"
#include "test/support/reference_source.hpp"
#include "test/support/thread_training.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera {
namespace {

using nlohmann::json;
using testing_support::Gathered;
using testing_support::TrainingCase;

const json& figures() {
  static const json all = json::parse(std::ifstream(TESSERA_TEST_DATA "/reference_steps.json"));
  return all;
}

/// With all that routers can do but noise.
ModelConfig balanced_mixture() {
  ModelConfig model = testing_support::tiny_dense();
  model.qk_norm = true;
  model.head_size = 24;
  model.experts = {.count = 12,
                   .per_token = 3,
                   .ffn = 40,
                   .shared_ffn = 56,
                   .layers = {1, 3},
                   .score = RouterScore::sigmoid,
                   .scale = 2.5,
                   .groups = 4,
                   .groups_per_token = 2,
                   .aux_coefficient = 1e-2,
                   .z_coefficient = 1e-3,
                   .bias = true,
                   .bias_rate = 1e-2};
  return model;
}

ModelConfig model_of(const std::string& name) {
  if (name == "mixture_balanced") return balanced_mixture();
  if (name == "gpt") return testing_support::tiny_gpt();
  ModelConfig model = testing_support::tiny_dense();
  if (name == "llama_varied") model.biases = model.qk_norm = model.tied = true;
  if (name.starts_with("mixture")) {
    model.experts.count = 4;
    model.experts.ffn = 96;
    model.experts.renormalise = name == "mixture_renormalised";
    model.experts.aux_coefficient = 1e-2;
  }
  return model;
}

struct Case {
  std::string model;
  DType dtype;
  double clip;
  int ranks;
  std::int64_t micro_batch;
  std::int64_t pieces = 1;
};

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return c.model + (c.dtype == DType::f64 ? "_fp64" : "_fp32") + (c.clip > 0 ? "_clipped" : "") + "_ranks" +
         std::to_string(c.ranks) + "_micro" + std::to_string(c.micro_batch) + "_pieces" + std::to_string(c.pieces);
}

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.model << " on " << c.ranks << " ranks";
}

class ReferenceTest : public testing::TestWithParam<Case> {};

void expect_gradients(const json& expected, const Gathered& gathered, DType dtype, double norm) {
  ASSERT_EQ(expected.size(), gathered.tensors.size());
  for (const json& tensor : expected) {
    const std::string field = tensor["field"];
    const int layer = tensor["layer"];
    const std::string name = layer < 0 ? field : "layers." + std::to_string(layer) + "." + field;
    const auto found = gathered.tensors.find(name);
    ASSERT_NE(found, gathered.tensors.end()) << name;
    const double largest = tensor["max_abs"];
    const double tolerance = dtype == DType::f64 ? 1e-9 * largest + 1e-13 * norm : 1e-5 * largest + 1e-8;
    double projection = 0;
    for (std::size_t i = 0; i < found->second.size(); ++i)
      projection += found->second[i] * reference::projection_weight(field, layer, static_cast<std::int64_t>(i));
    const auto elements = static_cast<double>(found->second.size());
    EXPECT_NEAR(projection, tensor["projection"].get<double>(), tolerance * std::sqrt(elements)) << name;
    for (const json& sample : tensor["samples"])
      EXPECT_NEAR(found->second[sample["element"].get<std::size_t>()], sample["value"].get<double>(), tolerance)
          << name;
  }
}

/// Biases of routers after the last step; none where the model has none.
void expect_router_biases(const json& series, const Gathered& weights) {
  if (!series.contains("router_bias")) return;
  for (const json& router : series["router_bias"]) {
    const std::string name = "layers." + std::to_string(router["layer"].get<int>()) + ".router.bias";
    const auto expected = router["values"].get<std::vector<double>>();
    ASSERT_EQ(weights.tensors.at(name).size(), expected.size());
    for (std::size_t e = 0; e < expected.size(); ++e) EXPECT_NEAR(weights.tensors.at(name)[e], expected[e], 1e-12) << e;
  }
}

TEST_P(ReferenceTest, TenStepsEqualPyTorch) {
  const Case& c = GetParam();
  const json& expected = figures()["models"][c.model][c.dtype == DType::f64 ? "fp64" : "fp32"];
  const json& series = expected[c.clip > 0 ? "clip_0.5" : "clip_off"];
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 16);
  TrainingCase run;
  run.model = model_of(c.model);
  run.dtype = c.dtype;
  run.axes = {{"dp", "dp", c.ranks}};
  run.strategies = {&data};
  run.optimizer = &optimizer;
  run.clip = c.clip;
  run.micro_batch = c.micro_batch;
  run.head_pieces = c.pieces;
  std::mutex mutex;
  Gathered gradients, weights;
  testing_support::run_training(run, [&](Engine& engine, int) {
    testing_support::set_reference_weights(engine);
    reference::ReferenceSource source;
    for (int step = 1; step <= 10; ++step) {
      const StepOutcome outcome = engine.step(source, (step - 1) * reference::k_global_batch, {step, 1e-3});
      const std::lock_guard lock(mutex);
      const auto s = static_cast<std::size_t>(step - 1);
      const double loss = series["loss"][s], norm = series["grad_norm"][s];
      const double loss_tolerance = c.dtype == DType::f64 ? 1e-9 : 1e-5;
      const double norm_tolerance = c.dtype == DType::f64 ? 1e-9 : step == 1 ? 1e-5 : 1e-4;
      EXPECT_NEAR(outcome.loss, loss, loss_tolerance * loss) << "step " << step;
      EXPECT_NEAR(outcome.gradient_norm, norm, norm_tolerance * norm) << "step " << step;
      const double auxiliary =
          series.contains("auxiliary") ? run.model.experts.aux_coefficient * series["auxiliary"][s].get<double>() : 0;
      EXPECT_NEAR(outcome.experts.auxiliary_loss, auxiliary, loss_tolerance * auxiliary) << "step " << step;
      EXPECT_EQ(outcome.tokens, figures()["valid_tokens"][s].get<std::int64_t>());
      if (step == 1) gradients.add(engine.gradients(), "gradient");
    }
    const std::lock_guard lock(mutex);
    weights.add(engine.tensors(), "model");
  });
  EXPECT_TRUE(gradients.replicas_equal);
  EXPECT_TRUE(weights.replicas_equal);
  expect_gradients(expected["gradients"], gradients, c.dtype, series["grad_norm"][0]);
  expect_router_biases(series, weights);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* model : {"llama_plain", "llama_varied", "gpt"})
    for (DType dtype : {DType::f64, DType::f32})
      for (double clip : {0.0, 0.5}) list.push_back({model, dtype, clip, 1, 24});
  for (int ranks : {1, 2, 3, 4})
    for (std::int64_t micro : {1, 2, 3, 6, 12})
      if (24 % (ranks * micro) == 0)
        list.push_back({"llama_varied", DType::f64, 0.5, ranks, micro, ranks % 2 == 0 ? 4 : 1});
  for (const char* model : {"mixture_renormalised", "mixture_scored", "mixture_balanced"})
    for (double clip : {0.0, 0.5}) list.push_back({model, DType::f64, clip, 1, 24});
  for (const char* model : {"mixture_renormalised", "mixture_balanced"})
    for (int ranks : {2, 3, 4}) list.push_back({model, DType::f64, 0.5, ranks, ranks == 4 ? 2 : 4});
  for (int ranks : {2, 3, 4}) list.push_back({"gpt", DType::f32, 0.5, ranks, 2, 2});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceTest, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace tessera
