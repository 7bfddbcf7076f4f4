// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Total : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, Total, every_float(), dtype_name);

TEST_P(Total, AddsAndAccumulates) {
  KernelRun run{"total", dtype(), {{dtype(), {2, 3}, {1, 0, 1, 1, 0, 1}}}, {{DType::f64, {}}}};
  EXPECT_EQ(results_of(run)[0][0], 4);
  run.out = {{DType::f64, {}, {10}}};
  run.accumulate = 1;
  EXPECT_EQ(results_of(run)[0][0], 14);
}

TEST(StepScalars, WholeNumbersAreAddedToo) {
  const KernelRun run{"total", DType::f64, {{DType::i32, {2, 2}, {7, 0, 3, 1}}}, {{DType::f64, {}}}};
  EXPECT_EQ(results_of(run)[0][0], 11);
}

TEST(StepScalars, AReportIsOneBehindTheOther) {
  const KernelRun run{
      "pack",
      DType::f64,
      {{DType::f64, {}, {5}}, {DType::f64, {3}, {1, 2, 3}}, {DType::f64, {0}, {}}, {DType::f64, {1, 2}, {8, 9}}},
      {{DType::f64, {6}}}};
  EXPECT_EQ(results_of(run)[0], (Values{5, 1, 2, 3, 8, 9}));
}

TEST(StepScalars, SeedIsTheScaleOverTheCount) {
  KernelRun run{"loss_seed", DType::f64, {{DType::f64, {}, {8}}}, {{DType::f64, {}}}, {}, 0, {.loss_scale = 1024}};
  EXPECT_EQ(results_of(run)[0][0], 128);
  run.in = {{DType::f64, {}, {0}}};
  EXPECT_EQ(results_of(run)[0][0], 0);
}

Values decision(double sum_of_squares, double scale, double clip) {
  return results_of({"step_decision",
                     DType::f64,
                     {{DType::f64, {}, {sum_of_squares}}},
                     {{DType::f64, {3}}},
                     Attributes::of(attributes::Clip{clip}),
                     0,
                     {.loss_scale = scale}})[0];
}

TEST(StepScalars, DecisionDoesNotDependOnTheLossScale) {
  const Values plain = decision(16, 1, 0.5);
  EXPECT_EQ(plain[0], 4);
  EXPECT_EQ(plain[1], 0.5 / (4 + 1e-6));
  EXPECT_EQ(plain[2], 0);
  const Values scaled = decision(16.0 * 256 * 256, 256, 0.5);
  EXPECT_EQ(scaled[0], 4);
  EXPECT_EQ(scaled[1] * 256, plain[1]);
  EXPECT_EQ(decision(16, 1, 0)[1], 1);
  EXPECT_EQ(decision(16, 8, 100)[1], 0.125);
}

TEST(StepScalars, NonFiniteGradientsSkipTheStep) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(decision(bad, 1, 0.5)[2], 1);
    EXPECT_EQ(decision(bad, 1, 0)[1], 0);
  }
}

TEST(Parts, CopiesIndicesOfOneDim) {
  const Attributes part = Attributes::of(attributes::CopyPart{1, 2, 1, 2});
  const KernelRun run{"copy_part",
                      DType::i64,
                      {{DType::i32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}}},
                      {{DType::i32, {2, 3}, {90, 91, 92, 93, 94, 95}}},
                      part};
  EXPECT_EQ(results_of(run)[0], (Values{90, 2, 3, 93, 6, 7}));
  const KernelRun scalar{"copy_part",
                         DType::i64,
                         {{DType::f64, {}, {7}}},
                         {{DType::f64, {}}},
                         Attributes::of(attributes::CopyPart{0, 0, 0, 1})};
  EXPECT_EQ(results_of(scalar)[0][0], 7);
}

TEST(Parts, ZeroClearsEveryDtype) {
  for (const DType dtype : {DType::f64, DType::bf16, DType::i32})
    for (const std::int64_t count : {0, 1, 777})
      EXPECT_EQ(results_of({"zero", DType::i64, {}, {{dtype, {count}}}})[0],
                Values(static_cast<std::size_t>(count), 0.0));
}

}  // namespace
}  // namespace tessera::test
