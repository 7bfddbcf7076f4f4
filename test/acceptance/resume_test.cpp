// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B02: ten steps in one go are ten steps with a save, a new start and a resume in between, bit by bit.
#include <gtest/gtest.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/optimizer/lion/lion.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "parallel_run.hpp"
#include "test/unit/io/temporary_folder.hpp"
#include "trainer_run.hpp"

namespace tessera::acceptance {
namespace {

const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});
const lion::Lion k_lion({0.9, 0.99, 0.1});
const sgd::Sgd k_sgd({0.9, 0.1});

struct Case {
  std::string name;
  ModelConfig model;
  DType dtype;
  ParallelLayout layout;
  std::int64_t micro_batch;
  const Optimizer* optimizer;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

/// Owns the strategies of its runs.
class Runs {
 public:
  explicit Runs(const Case& c) : parallel_(c.model, c.dtype, c.layout, *c.optimizer) {
    parallel_.training.model.dropout = 0.1;
    parallel_.training.clip = 0.5;
    parallel_.training.micro_batch = c.micro_batch;
  }

  TrainerRun run() const {
    TrainerRun run;
    run.training = parallel_.training;
    run.data = {run.training.model.vocab, unequal, {}, {}};
    return run;
  }

 private:
  ParallelRun parallel_;
};

class AcceptanceB02Resume : public testing::TestWithParam<Case> {};

TEST_P(AcceptanceB02Resume, IsBitwiseTheRunThatNeverStopped) {
  const Runs runs(GetParam());
  const TrainerLog straight = run_trainer(runs.run());
  const io::TemporaryFolder folder;
  TrainerRun run = runs.run();
  run.checkpoints = folder.path();
  run.stop_after = 5;
  TrainerLog resumed = run_trainer(run);
  EXPECT_EQ(resumed.ending, Ending::stopped);
  EXPECT_EQ(resumed.progress.consumed_samples, 40);
  run.stop_after = 0;
  const TrainerLog rest = run_trainer(run);
  EXPECT_EQ(rest.first_step, 6);
  resumed.records.insert(resumed.records.end(), rest.records.begin(), rest.records.end());
  EXPECT_EQ(resumed.lines(), straight.lines());
  EXPECT_EQ(rest.progress, straight.progress);
  expect_same_tensors(rest, straight);
}

/// Layers of experts whose routers are noisy and balanced by biases, two dense ones between them.
ModelConfig mixture() {
  ModelConfig model = tiny_dense();
  model.experts = {.count = 4, .ffn = 96, .layers = {0, 3}, .bias = true, .bias_rate = 0.01, .noise = 0.1};
  return model;
}

std::vector<Case> cases() {
  const ParallelLayout one, two{1, Residual::replicated, 2}, four{1, Residual::replicated, 4};
  std::vector<Case> list{{"llama_fp32_1_rank", tiny_dense(), DType::f32, one, 8, &k_adamw},
                         {"llama_fp32_2_ranks", tiny_dense(), DType::f32, two, 2, &k_adamw},
                         {"llama_fp64_4_ranks", tiny_dense(), DType::f64, four, 1, &k_adamw},
                         {"gpt_fp32_2_ranks", tiny_gpt(), DType::f32, two, 4, &k_adamw},
                         {"gpt_fp32_lion", tiny_gpt(), DType::f32, two, 2, &k_lion},
                         {"llama_fp32_sgd", tiny_dense(), DType::f32, two, 2, &k_sgd}};
  for (const char* schedule : {"gpipe", "one_f_one_b", "zero_bubble"})
    list.push_back({std::string("llama_fp32_pp2_") + schedule,
                    tiny_dense(),
                    DType::f32,
                    {1, Residual::replicated, 1, 2, schedule},
                    2,
                    &k_adamw});
  list.push_back({"gpt_fp32_pp2_interleaved",
                  tiny_gpt(),
                  DType::f32,
                  {1, Residual::replicated, 1, 2, "interleaved", 2},
                  1,
                  &k_adamw});
  list.push_back({"mixture_fp32_2_ranks", mixture(), DType::f32, two, 2, &k_adamw});
  list.push_back({"mixture_fp32_tp2_dp2_pp2", mixture(), DType::f32, {2, Residual::split, 2, 2}, 2, &k_adamw});
  list.push_back({"gpt_fp32_tp2_dp2_pp2", tiny_gpt(), DType::f32, {2, Residual::split, 2, 2}, 2, &k_adamw});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, AcceptanceB02Resume, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

/// Biases move in steps of one size along whole numbers of tokens, so no layout rounds them differently.
void expect_same_routers(const TrainerLog& actual, const TrainerLog& expected) {
  for (const auto& [name, biases] : expected.tensors.at("model").tensors)
    if (name.ends_with("router.bias")) {
      EXPECT_EQ(actual.tensors.at("model").tensors.at(name), biases) << name;
    }
}

/// Layouts that share the data order only; a run that goes on in its own layout has the same bits.
void expect_goes_on(const ModelConfig& model, const ParallelLayout& saved, const std::vector<ParallelLayout>& layouts) {
  const Case first{"", model, DType::f64, saved, 2, &k_adamw};
  const Runs first_runs(first);
  const TrainerLog straight = run_trainer(first_runs.run());
  for (const ParallelLayout& layout : layouts) {
    SCOPED_TRACE(name_of(saved) + " to " + name_of(layout));
    const io::TemporaryFolder folder;
    TrainerRun run = first_runs.run();
    run.checkpoints = folder.path();
    run.stop_after = 5;
    const TrainerLog stopped = run_trainer(run);
    Case second = first;
    second.layout = layout;
    const Runs second_runs(second);
    run = second_runs.run();
    run.checkpoints = folder.path();
    run.steps = 5;
    const TrainerLog loaded = run_trainer(run);
    EXPECT_TRUE(loaded.records.empty());
    expect_same_tensors(loaded, stopped);
    run.steps = 10;
    const TrainerLog rest = run_trainer(run);
    ASSERT_EQ(rest.records.size(), 5U);
    const double tolerance = name_of(layout) == name_of(saved) ? 0 : 1e-10;
    if (tolerance == 0) expect_same_tensors(rest, straight);
    expect_same_routers(rest, straight);
    for (std::size_t s = 0; s < 5; ++s) {
      const StepRecord &actual = rest.records[s], &expected = straight.records[s + 5];
      EXPECT_NEAR(actual.loss, expected.loss, tolerance * expected.loss);
      EXPECT_NEAR(actual.grad_norm, expected.grad_norm, tolerance * expected.grad_norm);
      EXPECT_EQ(actual.sample_digest, expected.sample_digest);
      EXPECT_EQ(actual.consumed_tokens, expected.consumed_tokens);
    }
  }
}

/// What is loaded is what was saved, and the run goes on as it would have.
TEST(AcceptanceB02, ResumesOnOtherNumbersOfRanks) {
  expect_goes_on(tiny_dense(), {1, Residual::replicated, 2}, {{1}, {1, Residual::replicated, 4}});
}

TEST(AcceptanceB02, ResumesOnOtherTensorLayouts) {
  expect_goes_on(tiny_dense(), {2, Residual::split},
                 {{2, Residual::split}, {1}, {2}, {4, Residual::split}, {1, Residual::split, 2}});
}

TEST(AcceptanceB02, ResumesMixturesOnOtherLayouts) {
  const std::vector<ParallelLayout> others{{1, Residual::replicated, 2},
                                           {1},
                                           {2, Residual::split},
                                           {1, Residual::replicated, 1, 2},
                                           {1, Residual::replicated, 1, 2, "interleaved", 2},
                                           {2, Residual::split, 2, 2}};
  expect_goes_on(mixture(), {1, Residual::replicated, 2}, others);
}

TEST(AcceptanceB02, ResumesOnOtherPipelines) {
  const ParallelLayout two_stages{1, Residual::replicated, 1, 2};
  const std::vector<ParallelLayout> others{two_stages,
                                           {1},
                                           {2},
                                           {1, Residual::replicated, 1, 4, "zero_bubble"},
                                           {1, Residual::replicated, 1, 2, "interleaved", 2},
                                           {2, Residual::split, 1, 2, "gpipe"}};
  expect_goes_on(tiny_dense(), two_stages, others);
  expect_goes_on(tiny_gpt(), two_stages, {{1}, {2, Residual::split, 2, 2}});
}

}  // namespace
}  // namespace tessera::acceptance
