// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class LayerNorm : public EveryFloat {
 protected:
  static constexpr double k_epsilon = 1e-5;
  static Attributes epsilon() { return Attributes::of(attributes::Norm{k_epsilon}); }

  KernelRun gradient(std::int64_t rows, std::int64_t width) const {
    const Values x = random(1, rows * width), gain = random(2, width), bias = random(3, width);
    const auto forward = reference::layer_norm(x, gain, bias, k_epsilon);
    return {"layer_norm_grad",
            dtype(),
            {{dtype(), {rows, width}, random(4, rows * width)},
             {dtype(), {rows, width}, x},
             {sums(), {rows}, forward.mean},
             {sums(), {rows}, forward.rstd},
             {dtype(), {width}, gain}},
            {{dtype(), {rows, width}}, {sums(), {width}}, {sums(), {width}}}};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, LayerNorm, every_float(), dtype_name);

struct Extents {
  std::int64_t rows, width;
};

TEST_P(LayerNorm, NormalizesEveryRow) {
  for (const auto [rows, width] : {Extents{1, 1}, {5, 7}, {0, 8}, {3, 0}, {33, 130}, {70, 1027}}) {
    const Values x = random(1, rows * width), gain = random(2, width), bias = random(3, width);
    const KernelRun run{"layer_norm",
                        dtype(),
                        {{dtype(), {rows, 1, width}, x}, {dtype(), {width}, gain}, {dtype(), {width}, bias}},
                        {{dtype(), {rows, 1, width}}, {sums(), {rows, 1}}, {sums(), {rows, 1}}},
                        epsilon()};
    const auto results = results_of(run);
    const auto expected = reference::layer_norm(x, gain, bias, k_epsilon);
    EXPECT_TRUE(close(results[0], expected.y, tolerance())) << rows << " x " << width;
    if (width > 0) {
      EXPECT_TRUE(close(results[1], expected.mean, tolerance_of(sums()))) << rows << " x " << width;
      EXPECT_TRUE(close(results[2], expected.rstd, tolerance_of(sums()))) << rows << " x " << width;
    }
    EXPECT_TRUE(same_for_any_threads(run)) << rows << " x " << width;
  }
}

TEST_P(LayerNorm, VarianceKeepsItsDigitsBesideALargeMean) {
  if (dtype() != DType::f32) GTEST_SKIP() << "a property of fp32";
  Values x = random_values(1, 768);
  for (double& v : x) v += 1000;
  x = rounded(dtype(), x);
  const Values ones(768, 1.0), zeros(768, 0.0);
  const KernelRun run{"layer_norm",
                      dtype(),
                      {{dtype(), {1, 768}, x}, {dtype(), {768}, ones}, {dtype(), {768}, zeros}},
                      {{dtype(), {1, 768}}, {sums(), {1}}, {sums(), {1}}},
                      epsilon()};
  EXPECT_TRUE(close(results_of(run)[0], reference::layer_norm(x, ones, zeros, k_epsilon).y, 1e-4));
}

TEST_P(LayerNorm, GradientIsTheDerivativeAndAccumulates) {
  const std::int64_t rows = 19, width = 37;
  KernelRun run = gradient(rows, width);
  const Values dy = run.in[0].values(), x = run.in[1].values(), gain = run.in[4].values(), bias = random(3, width);
  const auto y = [&](const Values& x_, const Values& gain_, const Values& bias_) {
    return reference::layer_norm(x_, gain_, bias_, k_epsilon).y;
  };
  const auto results = results_of(run);
  const double accepted = std::max(tolerance_of(sums()), 1e-9);
  EXPECT_TRUE(close(results[0], numeric_gradient([&](const Values& v) { return y(v, gain, bias); }, x, dy),
                    std::max(tolerance(), 1e-9)));
  EXPECT_TRUE(close(results[1], numeric_gradient([&](const Values& v) { return y(x, v, bias); }, gain, dy), accepted));
  EXPECT_TRUE(close(results[2], numeric_gradient([&](const Values& v) { return y(x, gain, v); }, bias, dy), accepted));
  const Values before = random_values(7, width);
  run.out = {TensorValue::absent(dtype(), {rows, width}), {sums(), {width}, before}, {sums(), {width}, before}};
  run.accumulate = 6;
  const auto added = results_of(run);
  EXPECT_TRUE(close(added[1], reference::add(results[1], before), tolerance_of(sums())));
  EXPECT_TRUE(close(added[2], reference::add(results[2], before), tolerance_of(sums())));
}

TEST_P(LayerNorm, SumsInTheSameOrderForAnyThreads) {
  EXPECT_TRUE(same_for_any_threads(gradient(2500, 20)));
  EXPECT_TRUE(same_for_any_threads(gradient(0, 20)));
}

}  // namespace
}  // namespace tessera::test
