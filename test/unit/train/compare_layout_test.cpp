// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Layouts that train as one rank does agree with it, and planted faults are found where they are.
#include "core/train/compare_layout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/faulty_strategy.hpp"
#include "test/support/layout_run.hpp"
#include "test/support/schedules.hpp"

namespace tessera {
namespace {

using testing_support::RandomSource;
using testing_support::TrainingCase;

const adamw::AdamW k_optimizer({0.9, 0.95, 1e-8, 0.1});
const DataParallel k_data(1 << 12);
const TensorParallel k_tensor(4, 2, TensorParallel::Residual::split);

TrainingCase case_of(DType dtype, std::vector<Axis> axes = {{"dp", "dp", 1}}) {
  TrainingCase run;
  run.model = {.layers = 3, .hidden = 32, .heads = 4, .kv_heads = 2, .ffn = 44, .vocab = 61, .sequence = 12};
  run.dtype = dtype;
  run.axes = std::move(axes);
  run.strategies = {&k_data, &k_tensor};
  run.optimizer = &k_optimizer;
  run.clip = 0.5;
  run.global_batch = 8;
  run.pipeline = {&testing_support::schedule_of("one_f_one_b"), 1, {}};
  return run;
}

ComparedSteps steps_of(std::int64_t number) {
  return {number, 8, [](std::int64_t) { return 1e-3; }};
}

constexpr std::uint64_t k_seed = 7;

ReferenceSteps reference_of(DType dtype, std::int64_t steps = 3) {
  ReferenceSteps reference;
  const TrainingCase run = case_of(dtype);
  testing_support::run_training(run, [&](Engine& engine, int) {
    RandomSource source(k_seed, run.model.vocab, run.model.sequence);
    reference = reference_steps(engine, source, steps_of(steps));
  });
  return reference;
}

/// What rank 0 finds; the other ranks must find the same. `prepare` is called on each rank before the first step.
LayoutComparison compare(const TrainingCase& run, const ReferenceSteps& reference, std::uint64_t seed = k_seed,
                         const std::function<void(Engine&, int rank)>& prepare = {}) {
  std::vector<LayoutComparison> found(static_cast<std::size_t>(Mesh(run.axes).size()));
  testing_support::run_training(run, [&](Engine& engine, Communicator& world) {
    if (prepare) prepare(engine, world.rank());
    RandomSource source(seed, run.model.vocab, run.model.sequence);
    found[static_cast<std::size_t>(world.rank())] = compare_layout(
        world, engine, source, steps_of(std::ssize(reference.steps)), world.rank() == 0 ? &reference : nullptr);
  });
  for (const LayoutComparison& other : found) {
    EXPECT_EQ(other.agrees(), found[0].agrees());
    EXPECT_EQ(other.drifted, found[0].drifted);
    EXPECT_EQ(other.gradients.size(), found[0].gradients.size());
    for (std::size_t t = 0; t < other.gradients.size(); ++t)
      EXPECT_EQ(other.gradients[t].difference, found[0].gradients[t].difference);
  }
  return found[0];
}

std::vector<std::vector<Axis>> meshes() {
  const auto mesh = [](int tp, int dp, int pp) {
    return std::vector<Axis>{{"tp", "tp", tp}, {"dp", "dp", dp}, {"pp", "pp", pp}};
  };
  return {mesh(1, 1, 1), mesh(2, 1, 1), mesh(1, 4, 1), mesh(1, 1, 3), mesh(2, 2, 2)};
}

TEST(CompareLayout, LayoutsAgreeWithOneRank) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const ReferenceSteps reference = reference_of(dtype);
    for (const std::vector<Axis>& axes : meshes()) {
      SCOPED_TRACE(Mesh(axes).describe());
      const LayoutComparison found = compare(case_of(dtype, axes), reference);
      EXPECT_TRUE(found.agrees());
      ASSERT_EQ(found.steps.size(), 3U);
      EXPECT_GT(found.steps[0].expected.loss, 1);
      EXPECT_EQ(found.steps[2].expected, reference.steps[2]);
      EXPECT_EQ(found.gradients.size(), 3U * 9 + 3);
      for (const TensorComparison& tensor : found.gradients) {
        EXPECT_GT(tensor.largest, 1e-4) << tensor.name;
        EXPECT_TRUE(tensor.complete && tensor.replicas_equal) << tensor.name;
        EXPECT_EQ(tensor.allowed, dtype == DType::f64
                                      ? 1e-10 * tensor.largest + 1e-13 * reference.steps[0].gradient_norm
                                      : 1e-5 * tensor.largest + 1e-8);
      }
    }
  }
}

std::set<std::string> wrong_tensors(const LayoutComparison& found) {
  std::set<std::string> names;
  for (const TensorComparison& tensor : found.gradients)
    if (!tensor.agrees()) names.insert(tensor.name);
  return names;
}

TEST(CompareLayout, AWrongBackwardIsFoundByTheTensorsThatItReaches) {
  const ReferenceSteps reference = reference_of(DType::f64);
  const testing_support::FaultyStrategy faulty(1);
  for (const std::vector<Axis>& axes : meshes()) {
    SCOPED_TRACE(Mesh(axes).describe());
    TrainingCase run = case_of(DType::f64, axes);
    run.strategies.push_back(&faulty);
    const LayoutComparison found = compare(run, reference);
    if (Mesh(axes).size() == 1) {
      EXPECT_TRUE(found.agrees());
      continue;
    }
    EXPECT_FALSE(found.agrees());
    EXPECT_EQ(found.steps[0].actual.tokens, found.steps[0].expected.tokens);
    EXPECT_LT(relative_difference(found.steps[0].actual.loss, found.steps[0].expected.loss), 1e-12);
    EXPECT_FALSE(found.steps[0].agrees) << "for its norm";
    const std::set<std::string> wrong = wrong_tensors(found);
    EXPECT_TRUE(wrong.contains("layers.1.norm2.gain"));
    EXPECT_TRUE(wrong.contains("layers.0.attention.q") && wrong.contains("embedding"));
    for (const std::string& name : wrong) EXPECT_FALSE(name.starts_with("layers.2.") || name == "head") << name;
    for (const TensorComparison& tensor : found.gradients)
      EXPECT_TRUE(tensor.agrees() || tensor.relative() > 1e-6) << tensor.name;
  }
}

TEST(CompareLayout, OtherSamplesAreFoundByTheLoss) {
  const LayoutComparison found = compare(case_of(DType::f32, {{"dp", "dp", 2}}), reference_of(DType::f32), k_seed + 1);
  EXPECT_FALSE(found.agrees());
  for (const StepComparison& step : found.steps) EXPECT_FALSE(step.agrees);
}

/// The table's part with its row of a token.
double* row_of(const Engine& engine, std::int64_t token) {
  for (const TensorPart& part : engine.tensors())
    if (part.group == "model" && part.parameter->name() == "embedding")
      return static_cast<double*>(part.data) + token * part.shape[1];
  return nullptr;
}

/// The last bit of a weight that nothing reads, on one of two ranks.
TEST(CompareLayout, ReplicasThatDriftAreNamed) {
  TrainingCase run = case_of(DType::f64, {{"dp", "dp", 2}});
  const ReferenceSteps reference = reference_of(DType::f64);
  ++run.model.vocab;  // and a source that does not know the last token
  ReferenceSteps larger;
  run.axes = {{"dp", "dp", 1}};
  const auto source_of = [&] { return RandomSource(k_seed, run.model.vocab - 1, run.model.sequence); };
  testing_support::run_training(run, [&](Engine& engine, int) {
    RandomSource source = source_of();
    larger = reference_steps(engine, source, steps_of(2));
  });
  run.axes = {{"dp", "dp", 2}};
  LayoutComparison found;
  testing_support::run_training(run, [&](Engine& engine, Communicator& world) {
    if (world.rank() == 1) {
      double& weight = *row_of(engine, run.model.vocab - 1);
      weight = std::nextafter(weight, 1.0);
    }
    RandomSource source = source_of();
    const LayoutComparison mine =
        compare_layout(world, engine, source, steps_of(2), world.rank() == 0 ? &larger : nullptr);
    if (world.rank() == 1) found = mine;
  });
  EXPECT_EQ(found.drifted, std::vector<std::string>{"model of embedding"});
  EXPECT_TRUE(wrong_tensors(found).empty());
  EXPECT_FALSE(found.agrees());
}

/// A gradient that is not finite skips the step: nothing of that agrees.
TEST(CompareLayout, WhatIsNotFiniteDoesNotAgree) {
  const auto spoil = [](Engine& engine, int rank) {
    if (double* row = row_of(engine, 3); rank == 0 && row != nullptr) *row = std::numeric_limits<double>::quiet_NaN();
  };
  const LayoutComparison found =
      compare(case_of(DType::f64, {{"dp", "dp", 2}}), reference_of(DType::f64), k_seed, spoil);
  EXPECT_FALSE(found.agrees());
  EXPECT_TRUE(found.steps[0].actual.skipped);
  EXPECT_FALSE(found.steps[0].agrees);
  EXPECT_TRUE(wrong_tensors(found).contains("head"));
}

TEST(ParityTolerance, IsThatOfTheAcceptanceCases) {
  const ParityTolerance exact = parity_tolerance(DType::f64), single = parity_tolerance(DType::f32);
  EXPECT_EQ(exact.allowed(2, 3), 1e-10 * 2 + 1e-13 * 3);
  EXPECT_EQ(single.allowed(2, 3), 1e-5 * 2 + 1e-8);
  EXPECT_EQ(single.first_norm, 1e-5);
  EXPECT_EQ(single.later_norm, 1e-4);
  EXPECT_EQ(relative_difference(3, 2), 0.5);
  EXPECT_EQ(relative_difference(0, 0), 0);
  EXPECT_EQ(relative_difference(1, 0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(relative_difference(std::numeric_limits<double>::quiet_NaN(), 1), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tessera
