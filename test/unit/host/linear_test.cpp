// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/host_device.hpp"
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

TEST_P(Linear, ForFewRowsGivesTheSameBits) {
  for (const auto [rows, in, out] : k_extents) {
    const Values x = random(1, rows * in), w = random(2, out * in), dy = random(3, rows * out);
    KernelRun forward{
        "linear", dtype(), {{dtype(), {rows, 1, in}, x}, {dtype(), {out, in}, w}}, {{dtype(), {rows, 1, out}}}};
    KernelRun backward{
        "linear_dx", dtype(), {{dtype(), {rows, 1, out}, dy}, {dtype(), {out, in}, w}}, {{dtype(), {rows, 1, in}}}};
    for (KernelRun* run : {&forward, &backward}) {
      const Values usual = results_of(*run)[0];
      run->variant = "narrow";
      EXPECT_EQ(results_of(*run)[0], usual) << run->op << " " << rows << " " << in << " " << out;
      EXPECT_TRUE(same_for_any_threads(*run)) << run->op << " " << rows << " " << in << " " << out;
    }
  }
}

TEST(LinearByOneDnn, IsTheProduct) {
  constexpr DType f32 = DType::f32;
  if (HostDevice(1).find("linear", f32, "onednn") == nullptr) GTEST_SKIP() << "built without oneDNN";
  for (const auto [rows, in, out] : k_extents) {
    const Values x = random_values(1, rows * in), w = random_values(2, out * in), dy = random_values(3, rows * out);
    KernelRun runs[] = {
        {"linear", f32, {{f32, {rows, 1, in}, x}, {f32, {out, in}, w}}, {{f32, {rows, 1, out}}}},
        {"linear_dx", f32, {{f32, {rows, 1, out}, dy}, {f32, {out, in}, w}}, {{f32, {rows, 1, in}}}},
        {"linear_dw", f32, {{f32, {rows, 1, out}, dy}, {f32, {rows, 1, in}, x}}, {{f32, {out, in}}}},
        {"linear_dw", f32, {{f32, {rows, 1, out}, dy}, {f32, {rows, 1, in}, x}}, {{f32, {out, in}, w}}, {}, 1}};
    for (KernelRun& run : runs) {
      const Values usual = results_of(run)[0];
      run.variant = "onednn";
      EXPECT_TRUE(close(results_of(run, 2)[0], usual, tolerance_of(f32))) << run.op << " " << rows << " " << in;
      EXPECT_TRUE(same_for_any_threads(run)) << run.op << " " << rows << " " << in << " " << out;
    }
  }
}

}  // namespace
}  // namespace tessera::test
