// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B26: an expert's gradient is that of the mean loss over the tokens of the global batch, however many ranks share the
// experts, and not a multiple of it.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "modules/optimizer/sgd/sgd.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

const sgd::Sgd k_sgd({0, 0});

ModelConfig without_auxiliary_loss() {
  ModelConfig model = tiny_mixture();
  model.experts.aux_coefficient = 0;
  return model;
}

class ExpertGradients : public testing::TestWithParam<DType> {};

TEST_P(ExpertGradients, AreThoseOfOneRank) {
  const ModelConfig model = without_auxiliary_loss();
  const StepLog one = train_steps(ParallelRun(model, GetParam(), {}, k_sgd).training, 1, unequal);
  for (const ParallelLayout& layout : expert_layouts()) {
    SCOPED_TRACE(name_of(layout));
    const StepLog other = train_steps(ParallelRun(model, GetParam(), layout, k_sgd).training, 1, unequal);
    expect_parity(other, one, GetParam());
    EXPECT_NEAR(other.steps[0].gradient_norm / one.steps[0].gradient_norm, 1, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(AcceptanceB26, ExpertGradients, testing::Values(DType::f32, DType::f64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// Where a rank holds element (i, j) of the expert e of a layer's matrix; null elsewhere.
double* element_of(Engine& engine, const std::string& name, std::int64_t e, std::int64_t i, std::int64_t j) {
  for (const TensorPart& part : engine.tensors()) {
    if (part.group != "model" || part.parameter->name() != name || part.slab.extent.count() == 0) continue;
    const std::int64_t local = e - part.slab.start[0];
    if (local < 0 || local >= part.slab.extent[0]) return nullptr;
    return static_cast<double*>(part.data) + (local * part.shape[1] + i) * part.shape[2] + j;
  }
  return nullptr;
}

/// The loss with an element of an expert moved by `by`.
double loss_at(Engine& engine, double* element, double by) {
  TokenSource source({tiny_mixture().vocab, unequal, {}, {}});
  if (element != nullptr) *element += by;
  const double loss = engine.step(source, 0, {1, 0.0}).loss;
  if (element != nullptr) *element -= by;
  return loss;
}

/// By central differences of the loss that the run itself reports.
TEST(AcceptanceB26, TheyAreTheSlopeOfTheTokenMean) {
  struct Element {
    const char* name;
    std::int64_t expert, i, j;
  };
  const Element elements[]{{"layers.3.experts.down", 0, 5, 7},
                           {"layers.3.experts.down", 3, 40, 1},
                           {"layers.2.experts.gate", 1, 9, 30},
                           {"layers.0.experts.up", 2, 11, 63}};
  constexpr double k_move = 1e-3;
  for (const ParallelLayout& layout :
       {ParallelLayout{}, {.data = 2, .expert = 2}, {.tensor = 2, .data = 2, .expert = 4}}) {
    std::mutex mutex;
    testing_support::Gathered gradient;
    std::vector<double> slopes;
    testing_support::run_training(ParallelRun(without_auxiliary_loss(), DType::f64, layout, k_sgd).training,
                                  [&](Engine& engine, int rank) {
                                    loss_at(engine, nullptr, 0);
                                    {
                                      const std::lock_guard lock(mutex);
                                      gradient.add(engine.gradients(), "gradient");
                                    }
                                    for (const Element& e : elements) {
                                      double* const held = element_of(engine, e.name, e.expert, e.i, e.j);
                                      const double above = loss_at(engine, held, k_move);
                                      const double below = loss_at(engine, held, -k_move);
                                      if (rank == 0) slopes.push_back((above - below) / (2 * k_move));
                                    }
                                  });
    for (std::size_t s = 0; s < slopes.size(); ++s) {
      const Element& e = elements[s];
      const std::vector<double>& whole = gradient.tensors.at(e.name);
      const std::int64_t width = std::string(e.name).ends_with("down") ? 96 : 64;
      const std::int64_t rows = std::string(e.name).ends_with("down") ? 64 : 96;
      const double expected = whole[static_cast<std::size_t>((e.expert * rows + e.i) * width + e.j)];
      EXPECT_NEAR(slopes[s], expected, 1e-5 * std::abs(expected) + 1e-9) << layout << ", " << e.name;
      EXPECT_GT(std::abs(expected), 1e-7) << "or nothing is compared";
    }
  }
}

}  // namespace
}  // namespace tessera::acceptance
