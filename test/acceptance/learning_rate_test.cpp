// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B04, B20: the learning rate of an update depends on its number only, not on ranks or micro-batches, and is that of
// the formula.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <numbers>

#include "modules/optimizer/sgd/sgd.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "trainer_run.hpp"

namespace tessera::acceptance {
namespace {

constexpr double k_max = 1e-2, k_min = 1e-3;
constexpr std::int64_t k_warmup = 4, k_end = 20, k_steps = 22;

double cosine(std::int64_t n) {
  if (n <= k_warmup) return k_max * static_cast<double>(n) / k_warmup;
  if (n >= k_end) return k_min;
  const double progress = static_cast<double>(n - k_warmup) / (k_end - k_warmup);
  return k_min + (k_max - k_min) / 2 * (1 + std::cos(std::numbers::pi * progress));
}

TrainerRun run_of(const Optimizer& optimizer, const Strategy& data, int ranks, std::int64_t accumulated) {
  TrainerRun run;
  run.training.model = tiniest();
  run.training.dtype = DType::f64;
  run.training.axes = data_axis(ranks);
  run.training.strategies = {&data};
  run.training.optimizer = &optimizer;
  run.training.global_batch = 16;
  run.training.micro_batch = 16 / ranks / accumulated;
  run.data = {run.training.model.vocab, unequal, {}, {}};
  run.learning_rate = {LrSchedule::cosine, k_max, k_min, k_warmup, k_end, 0};
  run.steps = k_steps;
  return run;
}

TEST(AcceptanceB04, TheRateIsThatOfTheUpdateOnEveryLayout) {
  EXPECT_DOUBLE_EQ(cosine(1) / k_max, 0.25);
  EXPECT_NEAR(cosine(8) / k_max, 0.868198, 1e-6);
  EXPECT_NEAR(cosine(12) / k_max, 0.55, 1e-12);
  EXPECT_NEAR(cosine(16) / k_max, 0.231802, 1e-6);
  const sgd::Sgd optimizer({0, 0});
  const DataParallel data(0);
  for (const int ranks : {1, 2, 4})
    for (const std::int64_t accumulated : {1, 4}) {
      const TrainerLog log = run_trainer(run_of(optimizer, data, ranks, accumulated));
      ASSERT_EQ(log.records.size(), static_cast<std::size_t>(k_steps));
      for (const StepRecord& record : log.records)
        EXPECT_NEAR(record.learning_rate, cosine(record.step), 1e-9 * k_max)
            << "step " << record.step << " on " << ranks << " ranks, " << accumulated << " micro-batches";
    }
}

/// What is logged is what is applied: under plain SGD a weight's change divided by the rate is the gradient.
TEST(AcceptanceB04, TheLoggedRateIsTheOneThatIsApplied) {
  const sgd::Sgd optimizer({0, 0});
  const DataParallel data(0);
  for (const auto& [ranks, accumulated] : {std::pair(1, 1), std::pair(2, 4), std::pair(4, 4)}) {
    TrainerRun run = run_of(optimizer, data, ranks, accumulated);
    testing_support::Gathered before, after, gradients;
    std::mutex mutex;
    const double rate = cosine(3);
    testing_support::run_training(run.training, [&](Engine& engine, int) {
      TokenSource source(run.data);
      {
        const std::lock_guard lock(mutex);
        before.add(engine.tensors(), "model");
      }
      engine.step(source, 0, {3, rate});
      const std::lock_guard lock(mutex);
      after.add(engine.tensors(), "model");
      gradients.add(engine.gradients(), "gradient");
    });
    for (const auto& [name, gradient] : gradients.tensors)
      for (std::size_t i = 0; i < gradient.size(); ++i)
        ASSERT_NEAR(before.tensors[name][i] - after.tensors[name][i], rate * gradient[i], 1e-15) << name;
  }
}

}  // namespace
}  // namespace tessera::acceptance
