// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of thread ranks train as one rank does: every schedule, tied tables, data parallelism beside it.
#include <mutex>

#include <gtest/gtest.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/reference_source.hpp"
#include "test/support/schedules.hpp"
#include "test/support/thread_training.hpp"

namespace tessera {
namespace {

using testing_support::Gathered;
using testing_support::TrainingCase;

constexpr int k_steps = 3;

struct Outcome {
  std::vector<StepOutcome> steps;
  EvaluationOutcome evaluation;
  Gathered gradients, weights;
};

Outcome run(const TrainingCase& training) {
  Outcome outcome;
  std::mutex mutex;
  testing_support::run_training(training, [&](Engine& engine, int rank) {
    testing_support::set_reference_weights(engine);
    reference::ReferenceSource source;
    for (int step = 1; step <= k_steps; ++step) {
      const StepOutcome result = engine.step(source, (step - 1) * training.global_batch, {step, 1e-3});
      const std::lock_guard lock(mutex);
      if (rank == 0) outcome.steps.push_back(result);
      if (step == 1) outcome.gradients.add(engine.gradients(), "gradient");
    }
    const EvaluationOutcome evaluation = engine.evaluate(source, 0, 5);
    const std::lock_guard lock(mutex);
    if (rank == 0) outcome.evaluation = evaluation;
    outcome.weights.add(engine.tensors(), "model");
  });
  return outcome;
}

void expect_close(const Gathered& actual, const Gathered& expected, double tolerance) {
  EXPECT_TRUE(actual.replicas_equal);
  ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
  for (const auto& [name, values] : expected.tensors) {
    const auto& found = actual.tensors.at(name);
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(values[i]));
      difference = std::max(difference, std::abs(values[i] - found[i]));
    }
    EXPECT_LE(difference, tolerance * std::max(largest, 1e-6)) << name;
  }
}

struct Case {
  std::string schedule;
  int stages = 2, chunks = 1, data = 1;
  bool tied = false;
  std::int64_t micro_batch = 1;
  int layers = 4;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.schedule << " pp" << c.stages << " v" << c.chunks << " dp" << c.data << (c.tied ? " tied" : "")
             << " micro " << c.micro_batch << " layers " << c.layers;
}

class PipelineTest : public testing::TestWithParam<Case> {};

TEST_P(PipelineTest, EqualsOneRank) {
  const Case& c = GetParam();
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 14);
  TrainingCase training;
  training.model = {
      .layers = c.layers, .hidden = 32, .heads = 4, .kv_heads = 2, .ffn = 48, .vocab = 131, .sequence = 32};
  training.model.tied = training.model.biases = training.model.qk_norm = c.tied;
  training.model.dropout = c.tied ? 0.1 : 0;
  training.strategies = {&data};
  training.optimizer = &optimizer;
  training.clip = 0.5;
  training.micro_batch = c.micro_batch;
  training.axes = {{"dp", "dp", 1}, {"pp", "pp", 1}};
  const Outcome expected = run(training);
  training.axes = {{"dp", "dp", c.data}, {"pp", "pp", c.stages}};
  training.pipeline = {&testing_support::schedule_of(c.schedule), c.chunks, {}};
  const Outcome actual = run(training);
  for (int step = 0; step < k_steps; ++step) {
    const StepOutcome &a = actual.steps[static_cast<std::size_t>(step)],
                      &e = expected.steps[static_cast<std::size_t>(step)];
    EXPECT_NEAR(a.loss, e.loss, 1e-10 * e.loss);
    EXPECT_NEAR(a.gradient_norm, e.gradient_norm, 1e-10 * e.gradient_norm);
    EXPECT_EQ(a.tokens, e.tokens);
  }
  EXPECT_NEAR(actual.evaluation.loss, expected.evaluation.loss, 1e-10 * expected.evaluation.loss);
  expect_close(actual.gradients, expected.gradients, 1e-10);
  expect_close(actual.weights, expected.weights, 1e-7);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* name : {"gpipe", "one_f_one_b", "zero_bubble"})
    for (int stages : {2, 4})
      for (bool tied : {false, true})
        for (int data : {1, 2}) list.push_back({name, stages, 1, data, tied, 2, 4});
  for (int stages : {2, 4})
    for (bool tied : {false, true}) list.push_back({"interleaved", stages, 2, 1, tied, 2, 8});
  list.push_back({"one_f_one_b", 3, 1, 1, true, 4, 5});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, PipelineTest, testing::ValuesIn(cases()));

}  // namespace
}  // namespace tessera
