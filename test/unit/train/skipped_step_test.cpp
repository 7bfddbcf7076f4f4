// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// A step whose gradient is not finite, on whichever rank, is skipped by all and leaves no trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/reference_source.hpp"
#include "test/support/thread_training.hpp"

namespace tessera {
namespace {

using testing_support::Gathered;

constexpr std::int32_t k_rare = 130;  ///< a token that the source below gives to the last sample of a batch only
constexpr std::int64_t k_batch = 4;

class RareTokenSource final : public BatchSource {
 public:
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override {
    reference_.fill(first_sample, samples, view);
    const std::int64_t columns = view.tokens.extent[1];
    for (std::int64_t i = 0; i < view.tokens.extent.count(); ++i) {
      const std::int64_t sample = first_sample + view.tokens.start[1] + i % columns;
      view.ids[i] = sample % k_batch == k_batch - 1 && i < columns ? k_rare : view.ids[i] % k_rare;
    }
  }
  std::uint64_t digest(std::int64_t, std::int64_t) const override { return 0; }

 private:
  reference::ReferenceSource reference_;
};

/// This rank's row of the embedding of the rare token.
std::span<float> rare_row(const Engine& engine) {
  for (const TensorPart& part : engine.tensors())
    if (part.group == "model" && part.parameter->field == "embedding")
      return {static_cast<float*>(part.data) + k_rare * part.shape[1], static_cast<std::size_t>(part.shape[1])};
  return {};
}

struct Numbers {
  std::vector<StepOutcome> steps;
  Gathered weights, first, second;
};

enum class Fault : std::uint8_t { none, second_step };

Numbers train(int ranks, Fault fault) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 12);
  testing_support::TrainingCase run;
  run.model.layers = 1;
  run.model.hidden = 16;
  run.model.heads = 2;
  run.model.ffn = 24;
  run.model.vocab = 131;
  run.model.sequence = 32;
  run.dtype = DType::f32;
  run.axes = {{"dp", "dp", ranks}};
  run.strategies = {&data};
  run.optimizer = &optimizer;
  run.clip = 1;
  run.global_batch = k_batch;
  Numbers numbers;
  std::mutex mutex;
  testing_support::run_training(run, [&](Engine& engine, int rank) {
    RareTokenSource source;
    std::vector<StepOutcome> outcomes{engine.step(source, 0, {1, 1e-3})};
    if (fault == Fault::second_step) {
      const std::span<float> row = rare_row(engine);
      const std::vector<float> kept(row.begin(), row.end());
      std::ranges::fill(row, std::numeric_limits<float>::infinity());
      outcomes.push_back(engine.step(source, k_batch, {2, 1e-3}));
      std::ranges::copy(kept, row.begin());
    }
    outcomes.push_back(engine.step(source, 2 * k_batch, {2, 1e-3}));
    const std::lock_guard lock(mutex);
    if (rank == 0) numbers.steps = outcomes;
    numbers.weights.add(engine.tensors(), "model");
    numbers.first.add(engine.tensors(), "moment1");
    numbers.second.add(engine.tensors(), "moment2");
  });
  EXPECT_TRUE(numbers.weights.replicas_equal);
  return numbers;
}

TEST(SkippedStep, LeavesNoTrace) {
  for (const int ranks : {1, 2, 4}) {
    const Numbers good = train(ranks, Fault::none), faulty = train(ranks, Fault::second_step);
    ASSERT_EQ(good.steps.size(), 2U);
    ASSERT_EQ(faulty.steps.size(), 3U);
    EXPECT_TRUE(faulty.steps[1].skipped) << ranks << " ranks";
    EXPECT_FALSE(std::isfinite(faulty.steps[1].gradient_norm));
    EXPECT_EQ(faulty.steps[0], good.steps[0]);
    EXPECT_EQ(faulty.steps[2], good.steps[1]);
    EXPECT_FALSE(good.steps[1].skipped);
    EXPECT_EQ(faulty.weights.tensors, good.weights.tensors);
    EXPECT_EQ(faulty.first.tensors, good.first.tensors);
    EXPECT_EQ(faulty.second.tensors, good.second.tensors);
  }
}

}  // namespace
}  // namespace tessera
