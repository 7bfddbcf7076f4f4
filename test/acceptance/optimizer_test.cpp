// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B47: what optimizers do to one weight under a constant gradient, in closed form: decay is decoupled and comes before
// the update.
#include <gtest/gtest.h>

#include <cmath>

#include "core/host/host_device.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/optimizer/lion/lion.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "test/support/tensor_value.hpp"

namespace tessera::acceptance {
namespace {

constexpr double k_rate = 0.01, k_decay = 0.1, k_gradient = 0.5;
constexpr double k_keep = 1 - k_rate * k_decay;

struct Optimizer1 {
  std::string_view op;
  std::span<const KernelEntry> kernels;
  Attributes options;
  int states;
};

const KernelEntry& find(const Optimizer1& optimizer, DType dtype) {
  for (const KernelEntry& entry : optimizer.kernels)
    if (entry.op == optimizer.op && entry.dtype == dtype) return entry;
  throw Error(ErrorKind::internal, "no kernel " + std::string(optimizer.op));
}

/// Weights after each of five steps with a constant gradient, from 1. `count` weights, so that vectorised loops and
/// their tails are used; all must be equal. The gradient is scaled, and the factor of the step takes the scale off.
std::vector<double> five_weights(const Optimizer1& optimizer, DType dtype, std::int64_t count) {
  HostDevice device(1);
  constexpr double k_scale = 8;
  const auto n = static_cast<std::size_t>(count);
  std::vector<test::TensorValue> operands{{dtype, {count}, test::Values(n, 1)},
                                          {dtype, {count}, test::Values(n, k_scale * k_gradient)}};
  for (int s = 0; s < optimizer.states; ++s) operands.emplace_back(dtype, Shape{count}, test::Values(n, 0));
  operands.emplace_back(DType::f64, Shape{3}, test::Values{k_gradient, 1 / k_scale, 0});
  std::vector<Tensor> in;
  for (const test::TensorValue& operand : operands) in.push_back(operand.tensor());
  std::vector<double> weights;
  for (std::int64_t step = 1; step <= 5; ++step) {
    StepInputs inputs;
    inputs.step = step;
    inputs.learning_rate = k_rate;
    find(optimizer, dtype).launch({in, {}, optimizer.options, {}, inputs, device.stream(StreamRole::compute)});
    const test::Values values = operands[0].values();
    for (double value : values) EXPECT_EQ(value, values[0]);
    weights.push_back(values[0]);
  }
  return weights;
}

template <class Expected>
void expect_weights(const Optimizer1& optimizer, const Expected& expected) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const std::int64_t count : {1, 7, 1000}) {
      const std::vector<double> weights = five_weights(optimizer, dtype, count);
      for (int step = 1; step <= 5; ++step)
        EXPECT_NEAR(weights[static_cast<std::size_t>(step - 1)], expected(step), dtype == DType::f64 ? 1e-9 : 1e-6)
            << optimizer.op << " " << name_of(dtype) << " step " << step;
    }
}

/// (1 - q^t) / (1 - q): how often an equal update, decayed ever since, is in the weight.
double decayed_sum(int t) {
  return (1 - std::pow(k_keep, t)) / (1 - k_keep);
}

/// A constant gradient makes both corrected moments constant, so each step is lr · sign, up to epsilon ÷ 0.5.
TEST(AcceptanceB47, AdamW) {
  const Optimizer1 optimizer{"adamw", adamw::kernels(), Attributes::of(adamw::Options{0.9, 0.95, 1e-8, k_decay}), 2};
  constexpr double published[] = {0.989000, 0.978011, 0.967033, 0.956066, 0.945110};
  for (int t = 1; t <= 5; ++t) EXPECT_NEAR(std::pow(k_keep, t) - k_rate * decayed_sum(t), published[t - 1], 1e-6);
  expect_weights(optimizer, [](int t) { return std::pow(k_keep, t) - k_rate / (1 + 2e-8) * decayed_sum(t); });
}

TEST(AcceptanceB47, Lion) {
  const Optimizer1 optimizer{"lion", lion::kernels(), Attributes::of(lion::Options{0.9, 0.99, k_decay}), 1};
  expect_weights(optimizer, [](int t) { return std::pow(k_keep, t) - k_rate * decayed_sum(t); });
}

TEST(AcceptanceB47, SgdWithoutMomentum) {
  const Optimizer1 optimizer{"sgd", sgd::kernels(), Attributes::of(sgd::Options{0, k_decay}), 0};
  expect_weights(optimizer, [](int t) { return std::pow(k_keep, t) - k_rate * k_gradient * decayed_sum(t); });
}

/// Velocity after t steps is g (1 - μ^t) / (1 - μ); what it adds is decayed afterwards.
TEST(AcceptanceB47, SgdWithMomentum) {
  constexpr double momentum = 0.9;
  const Optimizer1 optimizer{"sgd_momentum", sgd::kernels(), Attributes::of(sgd::Options{momentum, k_decay}), 1};
  expect_weights(optimizer, [](int t) {
    const double mixed = (std::pow(k_keep, t) - std::pow(momentum, t)) / (k_keep - momentum);  // Σ q^(t-s) μ^(s-1)
    const double sum = (decayed_sum(t) - momentum * mixed) / (1 - momentum);
    return std::pow(k_keep, t) - k_rate * k_gradient * sum;
  });
}

}  // namespace
}  // namespace tessera::acceptance
