// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class RmsNorm : public EveryFloat {
 protected:
  static constexpr double k_epsilon = 1e-5;
  static Attributes epsilon() { return Attributes::of(attributes::Norm{k_epsilon}); }
};
INSTANTIATE_TEST_SUITE_P(Host, RmsNorm, every_float(), dtype_name);

struct Extents {
  std::int64_t rows, width;
};

TEST_P(RmsNorm, NormalizesEveryRow) {
  for (const auto [rows, width] : {Extents{1, 1}, {5, 7}, {0, 8}, {3, 0}, {33, 130}, {70, 1027}}) {
    const Values x = random(1, rows * width), gain = random(2, width);
    const KernelRun run{"rms_norm",
                        dtype(),
                        {{dtype(), {rows, 1, width}, x}, {dtype(), {width}, gain}},
                        {{dtype(), {rows, 1, width}}, {sums(), {rows, 1}}},
                        epsilon()};
    const auto results = results_of(run);
    const auto expected = reference::rms_norm(x, gain, k_epsilon);
    EXPECT_TRUE(close(results[0], expected.y, tolerance())) << rows << " x " << width;
    if (width > 0) {
      EXPECT_TRUE(close(results[1], expected.rstd, tolerance_of(sums()))) << rows << " x " << width;
    }
    EXPECT_TRUE(same_for_any_threads(run)) << rows << " x " << width;
  }
}

TEST_P(RmsNorm, GradientIsTheDerivativeAndAccumulates) {
  const std::int64_t rows = 21, width = 37;
  const Values x = random(1, rows * width), gain = random(2, width), dy = random(3, rows * width);
  const Values rstd = rounded(sums(), reference::rms_norm(x, gain, k_epsilon).rstd), before = random_values(4, width);
  KernelRun run{
      "rms_norm_grad",
      dtype(),
      {{dtype(), {rows, width}, dy}, {dtype(), {rows, width}, x}, {sums(), {rows}, rstd}, {dtype(), {width}, gain}},
      {{dtype(), {rows, width}}, {sums(), {width}}}};
  const Values dx = numeric_gradient([&](const Values& v) { return reference::rms_norm(v, gain, k_epsilon).y; }, x, dy);
  const Values dg = numeric_gradient([&](const Values& v) { return reference::rms_norm(x, v, k_epsilon).y; }, gain, dy);
  const auto results = results_of(run);
  EXPECT_TRUE(close(results[0], dx, std::max(tolerance(), 1e-9)));
  EXPECT_TRUE(close(results[1], dg, std::max(tolerance_of(sums()), 1e-9)));
  EXPECT_TRUE(same_for_any_threads(run));
  run.out = {TensorValue::absent(dtype(), {rows, width}), {sums(), {width}, before}};
  run.accumulate = 2;
  EXPECT_TRUE(close(results_of(run)[1], reference::add(results[1], before), tolerance_of(sums())));
  run.out = {{dtype(), {rows, width}}, TensorValue::absent(sums(), {width})};
  run.accumulate = 0;
  EXPECT_EQ(results_of(run)[0], results[0]);
}

TEST_P(RmsNorm, GradientOfNoRowsIsZero) {
  KernelRun run{"rms_norm_grad",
                dtype(),
                {{dtype(), {0, 5}, {}}, {dtype(), {0, 5}, {}}, {sums(), {0}, {}}, {dtype(), {5}, random(2, 5)}},
                {{dtype(), {0, 5}}, {sums(), {5}}}};
  EXPECT_EQ(results_of(run)[1], Values(5, 0.0));
  run.accumulate = 2;
  run.out[1] = {sums(), {5}, Values(5, 3.0)};
  EXPECT_EQ(results_of(run)[1], Values(5, 3.0));
}

TEST_P(RmsNorm, ManyRowsSumInTheSameOrderForAnyThreads) {
  const std::int64_t rows = 3000, width = 20;
  const KernelRun run{"rms_norm_grad",
                      dtype(),
                      {{dtype(), {rows, width}, random(3, rows * width)},
                       {dtype(), {rows, width}, random(1, rows * width)},
                       {sums(), {rows}, random_values(2, rows)},
                       {dtype(), {width}, random(4, width)}},
                      {{dtype(), {rows, width}}, {sums(), {width}}}};
  EXPECT_TRUE(same_for_any_threads(run));
}

}  // namespace
}  // namespace tessera::test
