// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B02: ten steps in one go are ten steps with a save, a new start and a resume in between, bit by bit.
#include <gtest/gtest.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/optimizer/lion/lion.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "tensor_run.hpp"
#include "test/unit/io/temporary_folder.hpp"
#include "trainer_run.hpp"

namespace tessera::acceptance {
namespace {

const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});
const lion::Lion k_lion({0.9, 0.99, 0.1});
const sgd::Sgd k_sgd({0.9, 0.1});
const DataParallel k_data(1 << 14);

struct Case {
  std::string name;
  ModelConfig model;
  DType dtype;
  int ranks;
  std::int64_t micro_batch;
  const Optimizer* optimizer;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

TrainerRun run_of(const Case& c) {
  TrainerRun run;
  run.training.model = c.model;
  run.training.model.dropout = 0.1;
  run.training.dtype = c.dtype;
  run.training.axes = data_axis(c.ranks);
  run.training.strategies = {&k_data};
  run.training.optimizer = c.optimizer;
  run.training.clip = 0.5;
  run.training.global_batch = 8;
  run.training.micro_batch = c.micro_batch;
  run.data = {c.model.vocab, unequal, {}, {}};
  return run;
}

class AcceptanceB02Resume : public testing::TestWithParam<Case> {};

TEST_P(AcceptanceB02Resume, IsBitwiseTheRunThatNeverStopped) {
  const TrainerLog straight = run_trainer(run_of(GetParam()));
  const io::TemporaryFolder folder;
  TrainerRun run = run_of(GetParam());
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

std::vector<Case> cases() {
  return {{"llama_fp32_1_rank", tiny_dense(), DType::f32, 1, 8, &k_adamw},
          {"llama_fp32_2_ranks", tiny_dense(), DType::f32, 2, 2, &k_adamw},
          {"llama_fp64_4_ranks", tiny_dense(), DType::f64, 4, 1, &k_adamw},
          {"gpt_fp32_2_ranks", tiny_gpt(), DType::f32, 2, 4, &k_adamw},
          {"gpt_fp32_lion", tiny_gpt(), DType::f32, 2, 2, &k_lion},
          {"llama_fp32_sgd", tiny_dense(), DType::f32, 2, 2, &k_sgd}};
}

INSTANTIATE_TEST_SUITE_P(All, AcceptanceB02Resume, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

/// A checkpoint of two ranks on one and on four: what is loaded is what was saved, and the run goes on as it would
/// have.
TEST(AcceptanceB02, ResumesOnOtherNumbersOfRanks) {
  const Case saved{"", tiny_dense(), DType::f64, 2, 2, &k_adamw};
  const TrainerLog straight = run_trainer(run_of(saved));
  for (const int ranks : {1, 4}) {
    const io::TemporaryFolder folder;
    TrainerRun run = run_of(saved);
    run.checkpoints = folder.path();
    run.stop_after = 5;
    const TrainerLog stopped = run_trainer(run);
    run.training.axes = data_axis(ranks);
    run.stop_after = 0;
    run.steps = 5;
    const TrainerLog loaded = run_trainer(run);
    EXPECT_TRUE(loaded.records.empty());
    expect_same_tensors(loaded, stopped);
    run.steps = 10;
    const TrainerLog rest = run_trainer(run);
    ASSERT_EQ(rest.records.size(), 5U);
    for (std::size_t s = 0; s < 5; ++s) {
      const StepRecord &actual = rest.records[s], &expected = straight.records[s + 5];
      EXPECT_NEAR(actual.loss, expected.loss, 1e-10 * expected.loss);
      EXPECT_NEAR(actual.grad_norm, expected.grad_norm, 1e-10 * expected.grad_norm);
      EXPECT_EQ(actual.sample_digest, expected.sample_digest);
      EXPECT_EQ(actual.consumed_tokens, expected.consumed_tokens);
    }
  }
}

/// A checkpoint of two tensor ranks: bit by bit what other layouts load, and they go on as it would have.
TEST(AcceptanceB02, ResumesOnOtherTensorLayouts) {
  const auto run_of_layout = [](TensorRun& tensor) {
    TrainerRun run = run_of({"", tiny_dense(), DType::f64, 1, 2, &k_adamw});
    run.training.axes = tensor.training.axes;
    run.training.strategies = tensor.training.strategies;
    return run;
  };
  TensorRun saved(tiny_dense(), DType::f64, {2, Residual::split}, k_adamw);
  const TrainerLog straight = run_trainer(run_of_layout(saved));
  for (const TensorLayout& layout :
       {TensorLayout{2, Residual::split}, {1}, {2}, {4, Residual::split}, {1, Residual::split, 2}}) {
    SCOPED_TRACE(name_of(layout));
    const io::TemporaryFolder folder;
    TrainerRun run = run_of_layout(saved);
    run.checkpoints = folder.path();
    run.stop_after = 5;
    const TrainerLog stopped = run_trainer(run);
    TensorRun other(tiny_dense(), DType::f64, layout, k_adamw);
    run = run_of_layout(other);
    run.checkpoints = folder.path();
    run.steps = 5;
    const TrainerLog loaded = run_trainer(run);
    EXPECT_TRUE(loaded.records.empty());
    expect_same_tensors(loaded, stopped);
    run.steps = 10;
    const TrainerLog rest = run_trainer(run);
    ASSERT_EQ(rest.records.size(), 5U);
    const bool same_layout = layout.tensor == 2 && layout.residual == Residual::split;
    if (same_layout) expect_same_tensors(rest, straight);
    for (std::size_t s = 0; s < 5; ++s) {
      const StepRecord &actual = rest.records[s], &expected = straight.records[s + 5];
      const double tolerance = same_layout ? 0 : 1e-10;
      EXPECT_NEAR(actual.loss, expected.loss, tolerance * expected.loss);
      EXPECT_NEAR(actual.grad_norm, expected.grad_norm, tolerance * expected.grad_norm);
      EXPECT_EQ(actual.sample_digest, expected.sample_digest);
    }
  }
}

}  // namespace
}  // namespace tessera::acceptance
