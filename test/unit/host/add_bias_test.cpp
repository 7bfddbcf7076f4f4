// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class AddBias : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, AddBias, every_float(), dtype_name);

struct Extents {
  std::int64_t rows, width;
};
constexpr Extents k_extents[] = {{1, 1}, {7, 5}, {0, 4}, {3, 0}, {130, 259}, {300, 700}};

TEST_P(AddBias, AddsToEveryRow) {
  for (const auto [rows, width] : k_extents) {
    const Values x = random(1, rows * width), bias = random(2, width);
    const KernelRun run{
        "add_bias", dtype(), {{dtype(), {1, rows, width}, x}, {dtype(), {width}, bias}}, {{dtype(), {1, rows, width}}}};
    EXPECT_TRUE(close(results_of(run)[0], reference::add_bias(x, bias), tolerance()));
    EXPECT_TRUE(same_for_any_threads(run));
  }
}

TEST_P(AddBias, GradientSumsRows) {
  for (const auto [rows, width] : k_extents) {
    const Values dy = random(3, rows * width), before = random_values(4, width);
    KernelRun run{"bias_grad", dtype(), {{dtype(), {rows, 1, width}, dy}}, {{sums(), {width}}}};
    const Values expected = reference::bias_grad(dy, width);
    EXPECT_TRUE(close(results_of(run)[0], expected, tolerance_of(sums())));
    run.out = {{sums(), {width}, before}};
    run.accumulate = 1;
    EXPECT_TRUE(close(results_of(run)[0], reference::add(expected, before), tolerance_of(sums())));
    EXPECT_TRUE(same_for_any_threads(run));
  }
}

}  // namespace
}  // namespace tessera::test
