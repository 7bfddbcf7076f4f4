// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B55: a seed gives the same initial weights on every layout, and masks of dropout that differ between places, samples
// and steps but not between cuts of a batch.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <set>

#include "core/base/op_attributes.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "parallel_run.hpp"
#include "test/support/kernel_runner.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

using testing_support::Gathered;
using testing_support::TrainingCase;

const sgd::Sgd k_sgd({0, 0});
const DataParallel k_data(1 << 14);
const ParallelLayout k_layouts[]{{2},
                                 {2, Residual::split},
                                 {4},
                                 {4, Residual::split},
                                 {2, Residual::split, 2},
                                 {1, Residual::replicated, 1, 2},
                                 {1, Residual::replicated, 1, 2, "interleaved", 2},
                                 {1, Residual::replicated, 1, 4, "zero_bubble"},
                                 {2, Residual::split, 2, 2}};

TrainingCase case_of(const ModelConfig& model, DType dtype, int ranks, std::int64_t micro_batch) {
  TrainingCase run;
  run.model = model;
  run.dtype = dtype;
  run.axes = data_axis(ranks);
  run.strategies = {&k_data};
  run.optimizer = &k_sgd;
  run.global_batch = 8;
  run.micro_batch = micro_batch;
  return run;
}

Gathered initial_weights(const TrainingCase& run) {
  Gathered weights;
  std::mutex mutex;
  testing_support::run_training(run, [&](Engine& engine, int) {
    const std::lock_guard lock(mutex);
    weights.add(engine.tensors(), "model");
  });
  EXPECT_TRUE(weights.replicas_equal);
  return weights;
}

TEST(AcceptanceB55, InitialWeightsAreEqualOnEveryLayout) {
  for (const ModelConfig& model : {tiny_dense(), tiny_gpt()}) {
    const Gathered one = initial_weights(case_of(model, DType::f32, 1, 8));
    for (const auto& [ranks, micro_batch] : {std::pair(1, 1), std::pair(2, 4), std::pair(2, 1), std::pair(4, 2)})
      EXPECT_EQ(initial_weights(case_of(model, DType::f32, ranks, micro_batch)).tensors, one.tensors)
          << ranks << " ranks";
    TrainingCase other = case_of(model, DType::f32, 1, 8);
    other.seed = 2;
    EXPECT_NE(initial_weights(other).tensors.at("embedding"), one.tensors.at("embedding"));
    EXPECT_NE(one.tensors.at("layers.0.attention.q"), one.tensors.at("layers.1.attention.q"));
    EXPECT_NE(one.tensors.at("layers.0.attention.k"), one.tensors.at("layers.0.attention.v"));
  }
}

/// Shards and stages have their parts of the one-rank weights, replicas the same.
TEST(AcceptanceB55, InitialWeightsAreEqualOnEveryParallelLayout) {
  for (const ModelConfig& model : {tiny_dense(), tiny_gpt()}) {
    const Gathered one = initial_weights(case_of(model, DType::f32, 1, 8));
    for (const ParallelLayout& layout : k_layouts)
      EXPECT_EQ(initial_weights(ParallelRun(model, DType::f32, layout, k_sgd).training).tensors, one.tensors) << layout;
  }
}

/// A rank has its experts' part of the one-rank weights, and no expert begins as another does.
TEST(AcceptanceB55, InitialExpertsAreEqualOnEveryLayout) {
  const ModelConfig model = tiny_mixture();
  const Gathered one = initial_weights(case_of(model, DType::f32, 1, 8));
  for (const ParallelLayout& layout : expert_layouts())
    EXPECT_EQ(initial_weights(ParallelRun(model, DType::f32, layout, k_sgd).training).tensors, one.tensors) << layout;
  std::set<std::vector<double>> experts;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::vector<double>& all = one.tensors.at("layers." + std::to_string(layer) + ".experts.gate");
    const auto size = static_cast<std::ptrdiff_t>(all.size()) / model.experts.count;
    for (std::int64_t e = 0; e < model.experts.count; ++e)
      experts.emplace(all.begin() + e * size, all.begin() + (e + 1) * size);
  }
  EXPECT_EQ(experts.size(), static_cast<std::size_t>(model.layers * model.experts.count));
}

/// Ranks that hold the same tokens drop the same of them, those that hold others the same as one rank.
TEST(AcceptanceB55, RanksThatShareTheModelDropTheSame) {
  for (ModelConfig model : {tiny_dense(), tiny_gpt()}) {
    model.dropout = 0.5;
    const StepLog one = train_steps(case_of(model, DType::f64, 1, 8), 2, unequal);
    for (const ParallelLayout& layout : k_layouts)
      expect_parity(train_steps(ParallelRun(model, DType::f64, layout, k_sgd).training, 2, unequal), one, DType::f64);
  }
}

TEST(AcceptanceB55, RanksThatShareExpertsDropTheSame) {
  ModelConfig model = tiny_mixture();
  model.dropout = 0.5;
  const StepLog one = train_steps(case_of(model, DType::f64, 1, 8), 2, unequal);
  for (const ParallelLayout& layout : expert_layouts())
    expect_parity(train_steps(ParallelRun(model, DType::f64, layout, k_sgd).training, 2, unequal), one, DType::f64);
}

TEST(AcceptanceB55, CutsOfABatchDropTheSame) {
  ModelConfig model = tiny_dense();
  model.dropout = 0.5;
  const StepLog one = train_steps(case_of(model, DType::f64, 1, 8), 2, unequal);
  for (const auto& [ranks, micro_batch] : {std::pair(1, 2), std::pair(2, 4), std::pair(2, 1), std::pair(4, 2)})
    expect_parity(train_steps(case_of(model, DType::f64, ranks, micro_batch), 2, unequal), one, DType::f64);
  model.dropout = 0;
  EXPECT_GT(std::abs(train_steps(case_of(model, DType::f64, 1, 8), 1, unequal).steps[0].loss - one.steps[0].loss),
            1e-6);
}

/// The places of dropout in the plan that a model's training runs, in the order in which it runs them.
std::vector<attributes::Dropout> places_of(const ModelConfig& model) {
  std::vector<attributes::Dropout> places;
  testing_support::run_training(case_of(model, DType::f32, 1, 8), [&](Engine& engine, int) {
    const Plan& plan = engine.training().plan;
    for (const Program& program : plan.programs) {
      if (program.kind != ProgramKind::forward) continue;
      for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
        const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
        if (plan.names[static_cast<std::size_t>(instruction.name)] == "dropout")
          places.push_back(plan.attributes[static_cast<std::size_t>(instruction.attributes)].as<attributes::Dropout>());
      }
    }
  });
  return places;
}

/// Dropout of ones at places [first, sequence) of a sample: [places, samples, width], 0 or 1 ÷ (1 - p).
test::Values mask_of(const attributes::Dropout& place, const std::vector<std::int64_t>& samples, std::int64_t sequence,
                     std::int64_t first = 0) {
  const auto batch = static_cast<std::int64_t>(samples.size());
  test::Values index, sample(samples.begin(), samples.end());
  for (std::int64_t s = first; s < sequence; ++s) index.insert(index.end(), samples.size(), static_cast<double>(s));
  const std::int64_t places = sequence - first;
  const Shape shape{places, batch, place.width};
  const test::TensorValue ones(DType::f32, shape, test::Values(static_cast<std::size_t>(shape.count()), 1));
  return test::results_of({"dropout",
                           DType::f32,
                           {ones, {DType::i32, {places, batch}, index}, {DType::i64, {batch}, sample}},
                           {{DType::f32, shape}},
                           Attributes::of(place),
                           0,
                           {.seed = 5}})[0];
}

/// |share - 1/2| of n fair coins, in standard deviations.
double deviations(double share, std::size_t n) {
  return std::abs(share - 0.5) * 2 * std::sqrt(static_cast<double>(n));
}

double kept(const test::Values& mask) {
  double count = 0;
  for (double value : mask) {
    EXPECT_TRUE(value == 0 || value == 2);
    count += value / 2;
  }
  return count / static_cast<double>(mask.size());
}

double equal(const test::Values& a, const test::Values& b) {
  double count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 1 : 0;
  return count / static_cast<double>(a.size());
}

TEST(AcceptanceB55, MasksDifferBetweenPlacesSamplesAndSteps) {
  for (ModelConfig model : {tiny_dense(), tiny_gpt()}) {
    model.dropout = 0.5;
    const std::vector<attributes::Dropout> places = places_of(model);
    ASSERT_EQ(places.size(), static_cast<std::size_t>(1 + 2 * model.layers));
    std::vector<test::Values> masks;
    for (const attributes::Dropout& place : places) masks.push_back(mask_of(place, {0}, model.sequence));  // by place
    for (const std::int64_t sample : {1, 2, 7, 8, 9, 100000})
      masks.push_back(mask_of(places[0], {sample}, model.sequence));
    for (std::size_t a = 0; a < masks.size(); ++a) {
      EXPECT_LT(deviations(kept(masks[a]), masks[a].size()), 5) << a;
      for (std::size_t b = 0; b < a; ++b)
        EXPECT_LT(deviations(equal(masks[a], masks[b]), masks[a].size()), 5) << "masks " << a << " and " << b;
    }
  }
}

/// Neighbouring positions and features of one mask are as independent as coins.
TEST(AcceptanceB55, AMaskDoesNotRepeatItself) {
  const attributes::Dropout place{12345, 0.5, 64};
  const test::Values mask = mask_of(place, {3}, 256);
  for (const std::size_t shift : {1, 2, 63, 64, 65, 128, 4096}) {
    const test::Values a(mask.begin(), mask.end() - static_cast<std::ptrdiff_t>(shift));
    const test::Values b(mask.begin() + static_cast<std::ptrdiff_t>(shift), mask.end());
    EXPECT_LT(deviations(equal(a, b), a.size()), 5) << "shift " << shift;
  }
}

/// A rank's part of the sequence is masked as that part of the whole: other tokens, another mask.
TEST(AcceptanceB55, APartOfTheTokensIsMaskedAsInTheWhole) {
  const attributes::Dropout place{777, 0.5, 64};
  const test::Values whole = mask_of(place, {4, 9}, 32);
  const std::size_t row = 2 * 64;
  for (const std::int64_t first : {8, 16, 31}) {
    const test::Values part = mask_of(place, {4, 9}, 32, first);
    const auto begin = static_cast<std::size_t>(first) * row;
    EXPECT_EQ(part, test::Values(whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end()));
    const test::Values before(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(part.size()));
    EXPECT_LT(deviations(equal(part, before), part.size()), 5);
  }
}

/// Columns of a batch are masked as each sample alone is.
TEST(AcceptanceB55, ASampleIsMaskedAlikeInEveryBatch) {
  const attributes::Dropout place{777, 0.5, 16};
  const std::vector<std::int64_t> samples{40, 41, 7, 43, 12, 45};
  constexpr std::int64_t k_sequence = 9;
  const test::Values whole = mask_of(place, samples, k_sequence);
  for (std::size_t c = 0; c < samples.size(); ++c) {
    const test::Values alone = mask_of(place, {samples[c]}, k_sequence);
    for (std::size_t s = 0; s < k_sequence; ++s)
      for (std::size_t f = 0; f < 16; ++f)
        ASSERT_EQ(whole[(s * samples.size() + c) * 16 + f], alone[s * 16 + f]) << "sample " << samples[c];
  }
}

}  // namespace
}  // namespace tessera::acceptance
