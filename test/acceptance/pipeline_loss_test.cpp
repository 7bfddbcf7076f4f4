// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B34: what a run with a pipeline reports of a step, on every rank and in every line, is the loss of the whole step,
// though only the last stage computes it.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "parallel_run.hpp"
#include "trainer_run.hpp"

namespace tessera::acceptance {
namespace {

const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});
constexpr std::int64_t k_steps = 5;

/// That all ranks report the same is checked by run_trainer.
TrainerLog log_of(DType dtype, const ParallelLayout& layout) {
  const ParallelRun parallel(tiny_dense(), dtype, layout, k_adamw);
  TrainerRun run;
  run.training = parallel.training;
  run.data = run.validation = {tiny_dense().vocab, unequal, {}, {}};
  run.validation_samples = 5;
  run.steps = k_steps;
  run.eval_interval = 2;
  return run_trainer(run);
}

double number_behind(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name);
  EXPECT_NE(at, std::string::npos) << line;
  return std::stod(line.substr(at + name.size()));
}

class AcceptanceB34 : public testing::TestWithParam<ParallelLayout> {};

TEST_P(AcceptanceB34, EveryLineHasTheLossOfOneRank) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-10;
    const TrainerLog one = log_of(dtype, {}), log = log_of(dtype, GetParam());
    ASSERT_EQ(log.records.size(), static_cast<std::size_t>(k_steps));
    for (std::size_t s = 0; s < log.records.size(); ++s) {
      const StepRecord &actual = log.records[s], &expected = one.records[s];
      EXPECT_GT(expected.loss, 1);
      EXPECT_NEAR(actual.loss, expected.loss, tolerance * expected.loss) << "step " << s + 1;
      EXPECT_NEAR(actual.grad_norm, expected.grad_norm, (s == 0 ? 1 : 10) * tolerance * expected.grad_norm);
      EXPECT_EQ(actual.valid_tokens, expected.valid_tokens);
      EXPECT_NEAR(number_behind(console_line(actual, {k_steps, 8, 2}), "lm loss: "), expected.loss, 1e-5);
    }
    ASSERT_EQ(log.evaluations.size(), one.evaluations.size());
    for (std::size_t e = 0; e < one.evaluations.size(); ++e) {
      const EvaluationOutcome &actual = log.evaluations[e].second, &expected = one.evaluations[e].second;
      EXPECT_EQ(log.evaluations[e].first, one.evaluations[e].first);
      EXPECT_NEAR(actual.loss, expected.loss, tolerance * expected.loss);
      EXPECT_EQ(actual.tokens, expected.tokens);
    }
  }
}

const ParallelLayout k_layouts[]{{1, Residual::replicated, 1, 2},
                                 {1, Residual::replicated, 1, 2, "zero_bubble"},
                                 {1, Residual::replicated, 1, 2, "interleaved", 2},
                                 {1, Residual::replicated, 1, 4},
                                 {1, Residual::replicated, 1, 4, "gpipe"},
                                 {2, Residual::split, 2, 2}};

INSTANTIATE_TEST_SUITE_P(All, AcceptanceB34, testing::ValuesIn(k_layouts),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace tessera::acceptance
