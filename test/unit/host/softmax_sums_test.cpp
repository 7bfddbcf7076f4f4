// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class SoftmaxSums : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, SoftmaxSums, every_float(), dtype_name);

struct Extents {
  std::int64_t rows, width, first_column;
};
// Targets run over 0 … 99: some lie outside a part of the vocabulary.
constexpr Extents k_extents[] = {{1, 1, 0}, {5, 100, 0}, {0, 10, 0}, {4, 0, 100}, {40, 37, 21}, {33, 1600, 0}};

Values spread_out(Values values, double factor) {
  for (double& v : values) v *= factor;
  return values;
}

TEST_P(SoftmaxSums, LargestOfEachRow) {
  for (const auto [rows, width, first] : k_extents) {
    const Values x = random(1, rows * width);
    const KernelRun run{"row_max", dtype(), {{dtype(), {rows, 1, width}, x}}, {{sums(), {rows, 1}}}};
    EXPECT_EQ(results_of(run)[0], reference::row_max(x, rows)) << rows << " x " << width;
    EXPECT_TRUE(same_for_any_threads(run));
  }
}

TEST_P(SoftmaxSums, ExponentialsTheirSumAndTheTarget) {
  for (const auto [rows, width, first] : k_extents) {
    const Values x = rounded(dtype(), spread_out(random_values(1, rows * width), 20));
    const Values shift = rounded(sums(), reference::row_max(x, rows)), targets = random_integers(2, rows, 0, 100);
    if (width == 0) continue;
    const KernelRun run{"softmax_sums",
                        dtype(),
                        {TensorValue(dtype(), {rows, 1, width}, x).starting_at(2, first),
                         {sums(), {rows, 1}, shift},
                         {DType::i32, {rows, 1}, targets}},
                        {{dtype(), {rows, 1, width}}, {sums(), {rows, 1}}, {sums(), {rows, 1}}}};
    const auto results = results_of(run);
    const auto expected = reference::softmax_sums(x, shift, targets, first);
    EXPECT_TRUE(close(results[0], expected.e, tolerance())) << rows << " x " << width;
    EXPECT_TRUE(close(results[1], expected.z, tolerance_of(sums()))) << rows << " x " << width;
    EXPECT_EQ(results[2], expected.t) << rows << " x " << width;
    EXPECT_TRUE(same_for_any_threads(run)) << rows << " x " << width;
  }
}

TEST_P(SoftmaxSums, NoVocabularyHereGivesZeros) {
  const KernelRun run{
      "softmax_sums",
      dtype(),
      {TensorValue(dtype(), {3, 0}, {}).starting_at(1, 50), {sums(), {3}, {1, 2, 3}}, {DType::i32, {3}, {0, 50, 60}}},
      {{dtype(), {3, 0}}, {sums(), {3}}, {sums(), {3}}}};
  const auto results = results_of(run);
  EXPECT_EQ(results[1], Values(3, 0.0));
  EXPECT_EQ(results[2], Values(3, 0.0));
}

TEST_P(SoftmaxSums, MayOverwriteTheLogits) {
  const std::int64_t rows = 6, width = 1100;
  const Values x = random(1, rows * width), shift(6, 1.0), targets = random_integers(2, rows, 0, width);
  TensorValue logits(dtype(), {rows, width}, x);
  const TensorValue shifts(sums(), {rows}, shift), ids(DType::i32, {rows}, targets);
  TensorValue z(sums(), {rows}), t(sums(), {rows});
  const std::vector<Tensor> in{logits.tensor(), shifts.tensor(), ids.tensor()};
  const std::vector<Tensor> out{logits.tensor(), z.tensor(), t.tensor()};
  launch_kernel("softmax_sums", dtype(), in, out);
  const auto expected = reference::softmax_sums(x, shift, targets, 0);
  EXPECT_TRUE(close(logits.values(), expected.e, tolerance()));
  EXPECT_EQ(t.values(), expected.t);
}

TEST_P(SoftmaxSums, GradientFollowsTheFormula) {
  for (const auto [rows, width, first] : k_extents) {
    const Values e = random(1, rows * width), targets = random_integers(2, rows, 0, 100);
    const Values dz = rounded(sums(), random_values(3, rows)), dt = rounded(sums(), random_values(4, rows));
    const KernelRun run{"softmax_sums_grad",
                        dtype(),
                        {TensorValue(dtype(), {rows, width}, e).starting_at(1, first),
                         {sums(), {rows}, dz},
                         {sums(), {rows}, dt},
                         {DType::i32, {rows}, targets}},
                        {{dtype(), {rows, width}}}};
    EXPECT_TRUE(close(results_of(run)[0], reference::softmax_sums_grad(e, dz, dt, targets, first), tolerance()));
    EXPECT_TRUE(same_for_any_threads(run));
  }
}

TEST(SoftmaxSumsReference, GradientIsTheDerivative) {
  const Values x = random_values(1, 3 * 11), shift = reference::row_max(x, 3), targets{4, 20, 9};
  const Values dz = random_values(2, 3), dt = random_values(3, 3);
  const auto z_and_t = [&](const Values& logits) {
    const auto sums = reference::softmax_sums(logits, shift, targets, 0);
    Values both = sums.z;
    both.insert(both.end(), sums.t.begin(), sums.t.end());
    return both;
  };
  Values dy = dz;
  dy.insert(dy.end(), dt.begin(), dt.end());
  const Values e = reference::softmax_sums(x, shift, targets, 0).e;
  EXPECT_TRUE(close(reference::softmax_sums_grad(e, dz, dt, targets, 0), numeric_gradient(z_and_t, x, dy), 1e-9));
}

}  // namespace
}  // namespace tessera::test
