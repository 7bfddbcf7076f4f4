// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "tiny_dense.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/counter_rng.hpp"

namespace tessera::acceptance {
namespace {

std::int32_t token(std::int64_t vocab, std::int64_t sample, std::int64_t position) {
  const CounterRng rng(31, hash_name("acceptance tokens"), static_cast<std::uint64_t>(sample));
  return static_cast<std::int32_t>(rng.at(static_cast<std::uint64_t>(position)) % static_cast<std::uint64_t>(vocab));
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (double value : values) result = std::max(result, std::abs(value));
  return result;
}

}  // namespace

void TokenSource::fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) {
  const std::int64_t rows = view.tokens.extent[0], columns = view.tokens.extent[1];
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::int64_t number = view.tokens.start[1] + column, g = first_sample + number, c = content(g);
    const std::int64_t valid = number < samples ? options_.valid(g) : 0;
    if (options_.seen && number < samples) options_.seen(g, c);
    view.sample[column] = g;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = row * columns + column, position = view.tokens.start[0] + row;
      view.ids[at] = token(options_.vocab, c, position);
      view.target[at] = token(options_.vocab, c, position + 1);
      const std::int64_t start = options_.document_start ? options_.document_start(c, position) : 0;
      view.index[at] = static_cast<std::int32_t>(position);
      view.position[at] = static_cast<std::int32_t>(position - start);
      view.document[at] = static_cast<std::int32_t>(start);
      const bool chosen = !options_.counts || options_.counts(c, position);
      const double counts = position < valid && chosen ? 1 : 0;
      if (view.mask_dtype == DType::f64)
        static_cast<double*>(view.mask)[at] = counts;
      else
        static_cast<float*>(view.mask)[at] = static_cast<float>(counts);
    }
  }
}

std::uint64_t TokenSource::digest(std::int64_t first_sample, std::int64_t samples) const {
  std::uint64_t hash = 0;
  for (std::int64_t g = first_sample; g < first_sample + samples; ++g)
    hash = mix(hash ^ static_cast<std::uint64_t>(content(g)));
  return hash;
}

std::int64_t unequal(std::int64_t sample) {
  constexpr std::int64_t counts[] = {1, 3, 32, 7, 2, 19, 5, 11};
  return counts[sample % 8];
}

std::vector<Axis> data_axis(int ranks) {
  return {{"dp", "dp", ranks}};
}

StepLog train_steps(const testing_support::TrainingCase& run, std::int64_t steps,
                    const std::function<std::int64_t(std::int64_t)>& valid) {
  return train_steps(run, steps, TokenSource::Options{run.model.vocab, valid, {}, {}});
}

StepLog train_steps(const testing_support::TrainingCase& run, std::int64_t steps, const TokenSource::Options& data) {
  StepLog log;
  std::mutex mutex;
  testing_support::run_training(run, [&](Engine& engine, int rank) {
    TokenSource source(data);
    std::vector<StepOutcome> outcomes;
    for (std::int64_t step = 1; step <= steps; ++step) {
      outcomes.push_back(engine.step(source, (step - 1) * run.global_batch, {step, 1e-3}));
      if (step > 1) continue;
      const std::lock_guard lock(mutex);
      log.gradients.add(engine.gradients(), "gradient");
    }
    const std::lock_guard lock(mutex);
    log.weights.add(engine.tensors(), "model");
    if (log.steps.empty()) log.steps = outcomes;
    EXPECT_EQ(log.steps, outcomes) << "rank " << rank;
  });
  EXPECT_TRUE(log.gradients.replicas_equal);
  EXPECT_TRUE(log.weights.replicas_equal);
  return log;
}

void expect_parity(const StepLog& actual, const StepLog& expected, DType dtype) {
  const bool exact = dtype == DType::f64;
  ASSERT_EQ(actual.steps.size(), expected.steps.size());
  for (std::size_t s = 0; s < expected.steps.size(); ++s) {
    const StepOutcome &a = actual.steps[s], &e = expected.steps[s];
    EXPECT_NEAR(a.loss, e.loss, (exact ? 1e-10 : 1e-5) * e.loss) << "step " << s + 1;
    EXPECT_NEAR(a.gradient_norm, e.gradient_norm,
                (exact    ? 1e-10
                 : s == 0 ? 1e-5
                          : 1e-4) *
                    e.gradient_norm)
        << "step " << s + 1;
    EXPECT_EQ(a.tokens, e.tokens) << "step " << s + 1;
    EXPECT_FALSE(a.skipped) << "step " << s + 1;
  }
  ASSERT_EQ(actual.gradients.tensors.size(), expected.gradients.tensors.size());
  for (const auto& [name, gradient] : expected.gradients.tensors) {
    const std::vector<double>& other = actual.gradients.tensors.at(name);
    const double scale = largest(gradient);
    const double tolerance = exact ? 1e-10 * scale + 1e-13 * expected.steps[0].gradient_norm : 1e-5 * scale + 1e-8;
    double difference = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      difference = std::max(difference, std::abs(gradient[i] - other[i]));
    EXPECT_LE(difference, tolerance) << name;
  }
}

}  // namespace tessera::acceptance
