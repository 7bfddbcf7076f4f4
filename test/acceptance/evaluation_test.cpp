// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B22: an evaluation is Σ token loss ÷ Σ tokens over its samples, each once, whatever its batch; and training does not
// notice it.
#include <gtest/gtest.h>

#include <mutex>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "trainer_run.hpp"

namespace tessera::acceptance {
namespace {

constexpr std::int64_t k_samples = 13;
const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});
const DataParallel k_data(1 << 14);

/// Other data than what is trained on.
TokenSource::Options validation_data() {
  return {tiny_dense().vocab,
          [](std::int64_t g) { return unequal(3 * g + 1); },
          [](std::int64_t g) { return 100000 + g; },
          {}};
}

TrainerRun run_of(DType dtype, int ranks, std::int64_t batch) {
  TrainerRun run;
  run.training.model = tiny_dense();
  run.training.model.dropout = 0.1;
  run.training.dtype = dtype;
  run.training.axes = data_axis(ranks);
  run.training.strategies = {&k_data};
  run.training.optimizer = &k_adamw;
  run.training.global_batch = 32;
  run.training.micro_batch = batch;
  run.data = {run.training.model.vocab, unequal, {}, {}};
  run.validation = validation_data();
  run.validation_samples = k_samples;
  run.steps = 6;
  return run;
}

/// The initial model's loss on the samples [first, first + count), as every rank says it.
EvaluationOutcome evaluate(DType dtype, int ranks, std::int64_t batch, std::int64_t first, std::int64_t count) {
  std::vector<EvaluationOutcome> outcomes(static_cast<std::size_t>(ranks));
  testing_support::run_training(run_of(dtype, ranks, batch).training, [&](Engine& engine, int rank) {
    TokenSource source(validation_data());
    outcomes[static_cast<std::size_t>(rank)] = engine.evaluate(source, first, count);
  });
  for (const EvaluationOutcome& outcome : outcomes) EXPECT_EQ(outcome, outcomes[0]);
  return outcomes[0];
}

TEST(AcceptanceB22, EveryBatchAndNumberOfRanksGivesTheMeanOverTheSamples) {
  double loss = 0;
  std::int64_t tokens = 0;
  for (std::int64_t g = 0; g < k_samples; ++g) {  // one by one, added here
    const EvaluationOutcome one = evaluate(DType::f64, 1, 1, g, 1);
    EXPECT_EQ(one.tokens, unequal(3 * g + 1));
    loss += one.loss * static_cast<double>(one.tokens);
    tokens += one.tokens;
  }
  const double mean = loss / static_cast<double>(tokens);
  for (const DType dtype : {DType::f64, DType::f32})
    for (const int ranks : {1, 2, 4})
      for (const std::int64_t batch : {1, 2, 4, 8}) {
        const EvaluationOutcome outcome = evaluate(dtype, ranks, batch, 0, k_samples);
        EXPECT_EQ(outcome.tokens, tokens);
        EXPECT_NEAR(outcome.loss, mean, (dtype == DType::f64 ? 1e-12 : 1e-6) * mean)
            << name_of(dtype) << " on " << ranks << " ranks, batch " << batch;
      }
}

TEST(AcceptanceB22, TrainingDoesNotNotice) {
  for (const auto& [ranks, batch] : {std::pair(1, 8), std::pair(2, 4)}) {
    const TrainerLog without = run_trainer(run_of(DType::f32, ranks, batch));
    EXPECT_TRUE(without.evaluations.empty());
    std::vector<std::pair<std::int64_t, EvaluationOutcome>> every;
    for (const std::int64_t interval : {1, 3}) {
      TrainerRun run = run_of(DType::f32, ranks, batch);
      run.eval_interval = interval;
      const TrainerLog log = run_trainer(run);
      EXPECT_EQ(log.lines(), without.lines()) << "interval " << interval << " on " << ranks << " ranks";
      expect_same_tensors(log, without);
      ASSERT_EQ(log.evaluations.size(), static_cast<std::size_t>(6 / interval));
      if (interval == 1) every = log.evaluations;
      for (const auto& [step, outcome] : log.evaluations)
        EXPECT_EQ(outcome, every[static_cast<std::size_t>(step - 1)].second);
    }
    EXPECT_NE(every[0].second.loss, every[5].second.loss)
        << "the model that is evaluated is not the one that is trained";
  }
}

/// Dropout is on in these runs, or the case above could not see a shifted stream of random numbers.
TEST(AcceptanceB22, DropoutChangesTheTrainingLossOnly) {
  TrainerRun with = run_of(DType::f64, 1, 8), without = with;
  without.training.model.dropout = 0;
  with.eval_interval = without.eval_interval = 1;
  with.steps = without.steps = 1;
  with.learning_rate.max = without.learning_rate.max = with.learning_rate.min = without.learning_rate.min = 0;
  const TrainerLog a = run_trainer(with), b = run_trainer(without);
  EXPECT_GT(std::abs(a.records[0].loss - b.records[0].loss), 1e-6);
  EXPECT_EQ(a.evaluations, b.evaluations);
}

}  // namespace
}  // namespace tessera::acceptance
