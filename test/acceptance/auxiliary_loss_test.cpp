// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B27: what keeps experts balanced reaches the router, in proportion to its coefficient, and neither layouts nor the
// cut of a batch change it: it is a mean over the sequences of the global batch. (The known values of the formula are
// those of test/unit/host/balance_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "modules/optimizer/sgd/sgd.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

const sgd::Sgd k_sgd({0, 0});

/// Gradients of all routers, and what the step tells.
struct Routers {
  std::vector<double> gradient;
  StepOutcome outcome;
};

/// Which of both losses.
enum class Loss { balance, z };

struct Cut {
  ParallelLayout layout;
  std::int64_t micro_batch = 2;
};

Routers routers_of(Loss loss, double coefficient, const Cut& cut) {
  ModelConfig model = tiny_mixture();
  model.experts.aux_coefficient = loss == Loss::balance ? coefficient : 0;
  model.experts.z_coefficient = loss == Loss::z ? coefficient : 0;
  ParallelRun run(model, DType::f64, cut.layout, k_sgd);
  run.training.micro_batch = cut.micro_batch;
  const StepLog log = train_steps(run.training, 1, unequal);
  Routers routers{{}, log.steps[0]};
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::vector<double>& one = log.gradients.tensors.at("layers." + std::to_string(layer) + ".router");
    routers.gradient.insert(routers.gradient.end(), one.begin(), one.end());
  }
  return routers;
}

/// a + factor · b
std::vector<double> plus(std::vector<double> a, double factor, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
  return a;
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (double value : values) result = std::max(result, std::abs(value));
  return result;
}

double told(Loss loss, const StepOutcome& outcome) {
  return loss == Loss::balance ? outcome.experts.auxiliary_loss : outcome.experts.z_loss;
}

class AuxiliaryLosses : public testing::TestWithParam<Loss> {};

TEST_P(AuxiliaryLosses, ReachTheRouterInProportion) {
  constexpr double k_coefficient = 0.05;
  const Routers none = routers_of(GetParam(), 0, {}), once = routers_of(GetParam(), k_coefficient, {}),
                twice = routers_of(GetParam(), 2 * k_coefficient, {});
  const std::vector<double> of_once = plus(once.gradient, -1, none.gradient);
  const std::vector<double> of_twice = plus(twice.gradient, -1, none.gradient);
  EXPECT_GT(largest(of_once), 1e-4 * largest(none.gradient));
  EXPECT_LT(largest(plus(of_twice, -2, of_once)), 1e-10 * largest(of_once));
  EXPECT_EQ(told(GetParam(), none.outcome), 0);
  EXPECT_GT(told(GetParam(), once.outcome), 0);
  EXPECT_NEAR(told(GetParam(), twice.outcome), 2 * told(GetParam(), once.outcome), 1e-14);
  EXPECT_EQ(once.outcome.loss, none.outcome.loss) << "the loss that is told is that of the tokens";
}

TEST_P(AuxiliaryLosses, AreTheSameOnEveryLayoutAndCut) {
  std::vector<Cut> cuts;
  for (const std::int64_t micro_batch : {1, 4, 8}) cuts.push_back({{}, micro_batch});
  for (const std::int64_t micro_batch : {1, 4}) cuts.push_back({{.data = 2, .expert = 2}, micro_batch});
  for (const ParallelLayout& layout : expert_layouts()) cuts.push_back({layout});
  constexpr double k_coefficient = 0.05;
  const Routers one = routers_of(GetParam(), k_coefficient, {});
  const std::vector<double> expected = plus(one.gradient, -1, routers_of(GetParam(), 0, {}).gradient);
  for (const Cut& cut : cuts) {
    const Routers other = routers_of(GetParam(), k_coefficient, cut);
    const std::vector<double> actual = plus(other.gradient, -1, routers_of(GetParam(), 0, cut).gradient);
    EXPECT_LT(largest(plus(actual, -1, expected)), 1e-9 * largest(expected)) << cut.layout << ", " << cut.micro_batch;
    EXPECT_NEAR(told(GetParam(), other.outcome), told(GetParam(), one.outcome), 1e-12 * told(GetParam(), one.outcome))
        << cut.layout << ", " << cut.micro_batch;
  }
}

INSTANTIATE_TEST_SUITE_P(AcceptanceB27, AuxiliaryLosses, testing::Values(Loss::balance, Loss::z),
                         [](const auto& test) { return test.param == Loss::balance ? "balance" : "z"; });

}  // namespace
}  // namespace tessera::acceptance
