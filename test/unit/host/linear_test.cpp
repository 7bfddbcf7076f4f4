// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Linear : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, Linear, every_float(), dtype_name);

struct Extents {
  std::int64_t rows, in, out;
};
constexpr Extents k_extents[] = {{1, 1, 1}, {3, 5, 7},    {13, 17, 33},  {0, 4, 5},      {4, 0, 5},
                                 {4, 5, 0}, {64, 64, 64}, {95, 300, 34}, {200, 31, 530}, {31, 600, 49}};

TEST_P(Linear, IsTheProduct) {
  for (const auto [rows, in, out] : k_extents) {
    const Values x = random(1, rows * in), w = random(2, out * in);
    const KernelRun run{
        "linear", dtype(), {{dtype(), {rows, 1, in}, x}, {dtype(), {out, in}, w}}, {{dtype(), {rows, 1, out}}}};
    EXPECT_TRUE(close(results_of(run)[0], reference::linear(x, w, rows, in, out), tolerance())) << rows << " " << in;
    EXPECT_TRUE(same_for_any_threads(run)) << rows << " " << in << " " << out;
  }
}

TEST_P(Linear, InputGradientIsTheProduct) {
  for (const auto [rows, in, out] : k_extents) {
    const Values dy = random(1, rows * out), w = random(2, out * in);
    const KernelRun run{
        "linear_dx", dtype(), {{dtype(), {rows, 1, out}, dy}, {dtype(), {out, in}, w}}, {{dtype(), {rows, 1, in}}}};
    EXPECT_TRUE(close(results_of(run)[0], reference::linear_dx(dy, w, rows, in, out), tolerance())) << rows;
    EXPECT_TRUE(same_for_any_threads(run)) << rows << " " << in << " " << out;
  }
}

TEST_P(Linear, WeightGradientIsTheProductAndAccumulates) {
  for (const auto [rows, in, out] : k_extents) {
    const Values dy = random(1, rows * out), x = random(2, rows * in), before = random_values(3, out * in);
    KernelRun run{
        "linear_dw", dtype(), {{dtype(), {rows, 1, out}, dy}, {dtype(), {rows, 1, in}, x}}, {{sums(), {out, in}}}};
    const Values expected = reference::linear_dw(dy, x, rows, in, out);
    EXPECT_TRUE(close(results_of(run)[0], expected, tolerance_of(sums()))) << rows << " " << in << " " << out;
    run.out = {{sums(), {out, in}, before}};
    run.accumulate = 1;
    EXPECT_TRUE(close(results_of(run)[0], reference::add(expected, before), tolerance_of(sums()))) << rows;
    EXPECT_TRUE(same_for_any_threads(run)) << rows << " " << in << " " << out;
  }
}

}  // namespace
}  // namespace tessera::test
