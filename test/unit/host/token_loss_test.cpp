// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class TokenLoss : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, TokenLoss, wide_floats(), dtype_name);

TEST_P(TokenLoss, AndItsGradient) {
  for (const std::int64_t count : {0, 1, 77, 40000}) {
    Values z = random(1, count);
    for (double& v : z) v += 1.5;
    z = rounded(dtype(), z);
    const Values shift = random(2, count), t = random(3, count), dy = random(4, count);
    const KernelRun run{"token_loss",
                        dtype(),
                        {{dtype(), {count}, z}, {dtype(), {count}, shift}, {dtype(), {count}, t}},
                        {{dtype(), {count}}}};
    EXPECT_TRUE(close(results_of(run)[0], reference::token_loss(z, shift, t), tolerance())) << count;
    EXPECT_TRUE(same_for_any_threads(run));
    const KernelRun gradient{"token_loss_grad",
                             dtype(),
                             {{dtype(), {count}, dy}, {dtype(), {count}, z}},
                             {{dtype(), {count}}, {dtype(), {count}}}};
    const auto results = results_of(gradient);
    for (std::size_t i = 0; i < z.size(); ++i) {
      ASSERT_NEAR(results[0][i], dy[i] / z[i], 2 * tolerance());
      ASSERT_EQ(results[1][i], -dy[i]);
    }
  }
}

class MaskedSum : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, MaskedSum, wide_floats(), dtype_name);

TEST_P(MaskedSum, AddsInDoubleAndAccumulates) {
  for (const std::int64_t count : {0, 1, 5001}) {
    const Values x = random(1, count), mask = random_integers(2, count, 0, 2);
    KernelRun run{"masked_sum", dtype(), {{dtype(), {count}, x}, {dtype(), {count}, mask}}, {{DType::f64, {}}}};
    const double expected = reference::masked_sum(x, mask);
    EXPECT_NEAR(results_of(run)[0][0], expected, 1e-12 * static_cast<double>(count));
    run.out = {{DType::f64, {}, {2.5}}};
    run.accumulate = 1;
    EXPECT_NEAR(results_of(run)[0][0], expected + 2.5, 1e-12 * static_cast<double>(count + 1));
  }
}

TEST_P(MaskedSum, SpreadIsItsGradient) {
  const Values mask = random_integers(2, 99, 0, 2);
  const KernelRun run{"spread", DType::f64, {{DType::f64, {}, {0.25}}, {dtype(), {99}, mask}}, {{dtype(), {99}}}};
  const Values spread = results_of(run)[0];
  for (std::size_t i = 0; i < mask.size(); ++i) EXPECT_EQ(spread[i], 0.25 * mask[i]);
}

class SumSquares : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, SumSquares, every_float(), dtype_name);

TEST_P(SumSquares, AddsInDouble) {
  for (const std::int64_t count : {0, 1, 33, 1000, 100001}) {
    const Values x = random(1, count);
    KernelRun run{"sum_squares", dtype(), {{dtype(), {count}, x}}, {{DType::f64, {}}}};
    const double expected = reference::sum_squares(x);
    EXPECT_NEAR(results_of(run)[0][0], expected, 1e-13 * expected);
    EXPECT_TRUE(same_for_any_threads(run)) << count;
  }
}

}  // namespace
}  // namespace tessera::test
