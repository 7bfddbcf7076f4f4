// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B17: the gradient's norm counts every logical parameter once, however many ranks hold it or its parts, and clipping
// scales by exactly what follows from it.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "modules/optimizer/sgd/sgd.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

using testing_support::Gathered;

const sgd::Sgd k_sgd({0, 0});

/// One step with learning rate 1, without momentum and decay: weights move by the clipped gradient.
struct OneStep {
  double norm = 0;  ///< as every rank reports it
  Gathered gradient, before, after;
};

OneStep step_of(const ModelConfig& model, DType dtype, const ParallelLayout& layout, double clip) {
  OneStep result;
  std::mutex mutex;
  ParallelRun run(model, dtype, layout, k_sgd);
  run.training.clip = clip;
  testing_support::run_training(run.training, [&](Engine& engine, int rank) {
    const auto gather = [&](Gathered& gathered, const std::vector<TensorPart>& parts, const std::string& group) {
      const std::lock_guard lock(mutex);
      gathered.add(parts, group);
    };
    gather(result.before, engine.tensors(), "model");
    TokenSource source({model.vocab, unequal, {}, {}});
    const StepOutcome outcome = engine.step(source, 0, {1, 1.0});
    gather(result.gradient, engine.gradients(), "gradient");
    gather(result.after, engine.tensors(), "model");
    const std::lock_guard lock(mutex);
    if (result.norm == 0) result.norm = outcome.gradient_norm;
    EXPECT_EQ(outcome.gradient_norm, result.norm) << "rank " << rank;
  });
  EXPECT_TRUE(result.gradient.replicas_equal && result.after.replicas_equal);
  return result;
}

double norm_of(const Gathered& gathered) {
  double squares = 0;
  for (const auto& [name, values] : gathered.tensors)
    for (double value : values) squares += value * value;
  return std::sqrt(squares);
}

double distance(const Gathered& a, const Gathered& b) {
  double squares = 0;
  for (const auto& [name, values] : a.tensors)
    for (std::size_t i = 0; i < values.size(); ++i)
      squares += (values[i] - b.tensors.at(name)[i]) * (values[i] - b.tensors.at(name)[i]);
  return std::sqrt(squares);
}

std::vector<ModelConfig> models() {
  ModelConfig tied = tiny_dense();
  tied.tied = true;
  return {tiny_dense(), tied, tiny_gpt()};
}

const ParallelLayout k_layouts[]{{2},
                                 {2, Residual::split},
                                 {4},
                                 {4, Residual::split},
                                 {2, Residual::replicated, 2},
                                 {2, Residual::split, 2},
                                 {1, Residual::replicated, 1, 2},
                                 {1, Residual::replicated, 1, 4, "zero_bubble"},
                                 {2, Residual::split, 2, 2}};

TEST(AcceptanceB17, EachLogicalParameterCountsOnce) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-10;
    for (const ModelConfig& model : models()) {
      const OneStep one = step_of(model, dtype, {}, 0.5);
      EXPECT_NEAR(one.norm, norm_of(one.gradient), tolerance * one.norm);
      for (const ParallelLayout& layout : k_layouts) {
        const OneStep other = step_of(model, dtype, layout, 0.5);
        EXPECT_NEAR(other.norm, one.norm, tolerance * one.norm) << layout;
        EXPECT_NEAR(norm_of(other.gradient), other.norm, tolerance * one.norm) << layout;
      }
    }
  }
}

/// An expert's gradient is whole where the expert is: nobody counts it again.
TEST(AcceptanceB17, EachExpertCountsOnce) {
  const OneStep one = step_of(tiny_mixture(), DType::f64, {}, 0.5);
  for (const ParallelLayout& layout : expert_layouts()) {
    const OneStep other = step_of(tiny_mixture(), DType::f64, layout, 0.5);
    EXPECT_NEAR(other.norm, one.norm, 1e-10 * one.norm) << layout;
    EXPECT_NEAR(norm_of(other.gradient), other.norm, 1e-10 * one.norm) << layout;
    EXPECT_NEAR(distance(other.before, other.after), 0.5 * other.norm / (other.norm + 1e-6), 1e-9) << layout;
  }
}

/// The step is min(norm, clip) long, and the norm that is reported is that before clipping.
TEST(AcceptanceB17, ClippingScalesToTheThreshold) {
  for (const ModelConfig& model : models())
    for (const ParallelLayout& layout : k_layouts)
      for (const double clip : {0.5, 1e3, 0.0}) {
        const OneStep step = step_of(model, DType::f64, layout, clip);
        EXPECT_GT(step.norm, 1) << "or 0.5 would not be a threshold";
        const double expected = clip == 0.5 ? 0.5 * step.norm / (step.norm + 1e-6) : step.norm;
        EXPECT_NEAR(distance(step.before, step.after), expected, 1e-9) << layout << ", clip " << clip;
        EXPECT_NEAR(norm_of(step.gradient), step.norm, 1e-9) << layout << ", clip " << clip;
      }
}

}  // namespace
}  // namespace tessera::acceptance
