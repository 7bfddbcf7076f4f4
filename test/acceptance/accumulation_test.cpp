// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B53: gradients of a step do not depend on how many stages there are and into how many micro-batches the batch is cut:
// summed once, divided once, none left out and none left over from the step before.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>

#include "modules/optimizer/sgd/sgd.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

using testing_support::Gathered;

const sgd::Sgd k_sgd({0, 0});
constexpr int k_steps = 3;
constexpr std::int64_t k_batch = 8;

struct Norms {
  double whole = 0;               ///< as reported
  std::map<int, double> squares;  ///< by layer; -1: tables and the last norm
};

/// The same eight samples in each step, at learning rate 0.
Norms norms_of(DType dtype, const ParallelLayout& layout, std::int64_t micro_batch) {
  Norms norms;
  Gathered gradients;
  std::mutex mutex;
  std::map<std::string, int> layers;
  ParallelRun run(tiny_dense(), dtype, layout, k_sgd);
  run.training.micro_batch = micro_batch;
  testing_support::run_training(run.training, [&](Engine& engine, int rank) {
    TokenSource source({tiny_dense().vocab, unequal, [](std::int64_t g) { return g % k_batch; }, {}});
    for (std::int64_t step = 1; step <= k_steps; ++step) {
      const StepOutcome outcome = engine.step(source, (step - 1) * k_batch, {step, 0.0});
      const std::lock_guard lock(mutex);
      if (norms.whole == 0) norms.whole = outcome.gradient_norm;
      EXPECT_EQ(outcome.gradient_norm, norms.whole) << "step " << step << " of rank " << rank;
    }
    const std::lock_guard lock(mutex);
    gradients.add(engine.gradients(), "gradient");
    for (const TensorPart& part : engine.gradients()) layers[part.parameter->name()] = part.parameter->layer;
  });
  for (const auto& [name, values] : gradients.tensors)
    for (double value : values) norms.squares[layers.at(name)] += value * value;
  return norms;
}

class AcceptanceB53 : public testing::TestWithParam<DType> {};

TEST_P(AcceptanceB53, NormsDependNeitherOnStagesNorOnMicroBatches) {
  const double tolerance = GetParam() == DType::f32 ? 1e-5 : 1e-10;
  const Norms one = norms_of(GetParam(), {}, 8);
  EXPECT_EQ(one.squares.size(), 5U);
  std::vector<ParallelLayout> layouts{{}};
  for (const int stages : {2, 4})
    for (const char* schedule : {"gpipe", "one_f_one_b", "zero_bubble"})
      layouts.push_back({1, Residual::replicated, 1, stages, schedule});
  layouts.push_back({1, Residual::replicated, 1, 2, "interleaved", 2});
  for (const ParallelLayout& layout : layouts)
    for (const std::int64_t micro_batch : {1, 2, 4, 8}) {
      SCOPED_TRACE(name_of(layout) + ", micro-batches of " + std::to_string(micro_batch));
      const Norms norms = norms_of(GetParam(), layout, micro_batch);
      EXPECT_NEAR(norms.whole, one.whole, tolerance * one.whole);
      for (const auto& [layer, squares] : one.squares)
        EXPECT_NEAR(std::sqrt(norms.squares.at(layer)), std::sqrt(squares), tolerance * std::sqrt(squares))
            << "layer " << layer;
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, AcceptanceB53, testing::Values(DType::f32, DType::f64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace tessera::acceptance
