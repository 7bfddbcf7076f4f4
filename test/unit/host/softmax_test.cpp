// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"
#include "test/support/reference_experts.hpp"

namespace tessera::test {
namespace {

class Scores : public EveryFloat {
 protected:
  KernelRun run(std::string_view op, const Values& x, const Shape& shape) const {
    return {op, dtype(), {{dtype(), shape, x}}, {{sums(), shape}}};
  }
  /// From the scores' gradient, both as wide as sums are.
  KernelRun gradient_run(std::string_view op, const Values& dy, const Values& y, const Shape& shape) const {
    return {op, sums(), {{sums(), shape, dy}, {sums(), shape, y}}, {{sums(), shape}}};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Scores, every_float(), dtype_name);

constexpr std::pair<std::int64_t, std::int64_t> k_extents[] = {{1, 1}, {20, 4}, {3, 7}, {0, 4}, {33, 64}, {5, 1030}};

TEST_P(Scores, SoftmaxOfEveryRow) {
  for (const auto& [rows, width] : k_extents) {
    Values x = random(1, rows * width);
    for (double& value : x) value *= 4;
    const KernelRun softmax = run("softmax", x, {rows, 1, width});
    EXPECT_TRUE(close(results_of(softmax)[0], reference::softmax(x, width), 4 * tolerance_of(sums()))) << width;
    EXPECT_TRUE(same_for_any_threads(softmax)) << rows << " x " << width;
  }
}

TEST_P(Scores, SoftmaxOfLargeLogitsDoesNotOverflow) {
  const Values x{1000, 1000, -1000, 999};
  EXPECT_TRUE(close(results_of(run("softmax", rounded(dtype(), x), {1, 1, 4}))[0],
                    reference::softmax(rounded(dtype(), x), 4), 4 * tolerance_of(sums())));
}

TEST_P(Scores, SigmoidOfEveryElement) {
  for (const auto& [rows, width] : k_extents) {
    Values x = random(2, rows * width);
    for (double& value : x) value *= 8;
    const KernelRun sigmoid = run("sigmoid", x, {rows, 1, width});
    EXPECT_TRUE(close(results_of(sigmoid)[0], reference::sigmoid(x), 4 * tolerance_of(sums()))) << width;
    EXPECT_TRUE(same_for_any_threads(sigmoid)) << rows << " x " << width;
  }
}

TEST_P(Scores, GradientsAreTheDerivatives) {
  for (const auto& [rows, width] : {std::pair<std::int64_t, std::int64_t>{9, 5}, {1, 1}, {2, 40}, {0, 3}}) {
    const Shape shape{rows, 1, width};
    const Values x = random_values(3, rows * width), dy = rounded(sums(), random_values(4, rows * width));
    const std::int64_t n = width;
    const std::tuple<const char*, std::function<Values(const Values&)>> cases[] = {
        {"softmax_grad", [n](const Values& v) { return reference::softmax(v, n); }},
        {"sigmoid_grad", [](const Values& v) { return reference::sigmoid(v); }}};
    for (const auto& [op, function] : cases) {
      const KernelRun gradient = gradient_run(op, dy, rounded(sums(), function(x)), shape);
      EXPECT_TRUE(
          close(results_of(gradient)[0], numeric_gradient(function, x, dy), std::max(8 * tolerance_of(sums()), 1e-9)))
          << op << " of " << width;
      EXPECT_TRUE(same_for_any_threads(gradient)) << op;
    }
  }
}

}  // namespace
}  // namespace tessera::test
