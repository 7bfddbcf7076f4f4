// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernel_fixture.hpp"
#include "test/support/reference_experts.hpp"

namespace tessera::test {
namespace {

using reference::ChoiceRule;

constexpr ChoiceRule k_rules[] = {{1, 1},        {4, 2},        {4, 4},        {7, 3},         {64, 8},
                                  {8, 2, 4, 2},  {8, 2, 2, 1},  {16, 4, 8, 3}, {6, 2, 6, 3},   {256, 8, 8, 4},
                                  {12, 3, 4, 4}, {12, 2, 3, 9}, {8, 1, 1, 1},  {20, 20, 4, 4}, {9, 3, 3, 1}};

class TopK : public EveryFloat {
 protected:
  /// Scores with many ties.
  Values tied(std::uint64_t seed, std::int64_t count) const {
    Values scores = random_integers(seed, count, 0, 5);
    for (double& score : scores) score /= 4;
    return scores;
  }

  KernelRun run(const Values& scores, const Values& bias, const ChoiceRule& rule, std::int64_t rows) const {
    KernelRun run{"top_k", dtype(), {{dtype(), {rows, 1, rule.experts}, scores}}, {{DType::i32, {rows, 1, rule.k}}}};
    run.in.push_back(bias.empty() ? TensorValue::absent(sums(), {rule.experts})
                                  : TensorValue(sums(), {rule.experts}, bias));
    run.attributes = Attributes::of(attributes::TopK{rule.k, rule.groups, rule.group_k});
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(Host, TopK, every_float(), dtype_name);

TEST_P(TopK, IsTheBestOfEveryRow) {
  for (const ChoiceRule& rule : k_rules) {
    for (const std::int64_t rows : {0, 1, 37}) {
      const Values bias = tied(3, rule.experts);
      for (const Values& scores : {random(1, rows * rule.experts), tied(2, rows * rule.experts)}) {
        for (const Values& b : {Values{}, bias}) {
          // The sums as the kernel has them, so that what is equal there is equal here.
          Values sum = scores;
          for (std::size_t i = 0; i < sum.size() && !b.empty(); ++i) sum[i] += b[i % b.size()];
          const KernelRun choice = run(scores, b, rule, rows);
          EXPECT_EQ(results_of(choice)[0], reference::top_k(rounded(sums(), sum), {}, rule))
              << rule.experts << " " << rule.k << " " << rule.groups;
          EXPECT_TRUE(same_for_any_threads(choice));
        }
      }
    }
  }
}

TEST_P(TopK, TiesGoToTheLowerIndex) {
  EXPECT_EQ(results_of(run({0.5, 0.5, 0.5, 0.5}, {}, {4, 2}, 1))[0], (Values{0, 1}));
  EXPECT_EQ(results_of(run({0, 0.5, 1, 0.5}, {}, {4, 3}, 1))[0], (Values{2, 1, 3}));
  EXPECT_EQ(results_of(run({1, 0, 0, 1, 0, 1}, {}, {6, 2, 3, 1}, 1))[0], (Values{0, 1}));
}

/// A step with NaN is skipped, but it must not read or write elsewhere on the way.
TEST_P(TopK, NotANumberStillGivesDifferentExperts) {
  for (const ChoiceRule& rule : {ChoiceRule{4, 2}, ChoiceRule{8, 3, 4, 2}, ChoiceRule{8, 2, 2, 1}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Values scores = random(seed, rule.experts);
      for (std::size_t i = 0; i < scores.size(); ++i)
        if (seed % 4 == 0 || random_integers(seed + i, 1, 0, 2)[0] == 0) scores[i] = NAN;
      Values choice = results_of(run(scores, {}, rule, 1))[0];
      std::sort(choice.begin(), choice.end());
      EXPECT_EQ(std::unique(choice.begin(), choice.end()), choice.end()) << seed;
      EXPECT_GE(choice.front(), 0);
      EXPECT_LT(choice.back(), rule.experts);
    }
  }
}

TEST_P(TopK, TakesTheChosenAndGivesTheirGradientsBack) {
  for (const ChoiceRule& rule : {ChoiceRule{4, 2}, ChoiceRule{7, 3}, ChoiceRule{1, 1}, ChoiceRule{64, 8}}) {
    for (const std::int64_t rows : {0, 1, 21}) {
      const Values scores = random(5, rows * rule.experts), d = random(6, rows * rule.k);
      const Values choice = reference::top_k(scores, {}, rule);
      const Shape whole{rows, 1, rule.experts}, few{rows, 1, rule.k};
      const KernelRun take{"take", dtype(), {{dtype(), whole, scores}, {DType::i32, few, choice}}, {{dtype(), few}}};
      EXPECT_EQ(results_of(take)[0], reference::take(scores, choice, rule.experts, rule.k));
      const KernelRun gradient{
          "take_grad", dtype(), {{dtype(), few, d}, {DType::i32, few, choice}}, {{dtype(), whole}}};
      Values expected(scores.size(), 0.0);
      for (std::size_t i = 0; i < d.size(); ++i)
        expected[i / static_cast<std::size_t>(rule.k) * static_cast<std::size_t>(rule.experts) +
                 static_cast<std::size_t>(choice[i])] += d[i];
      EXPECT_EQ(results_of(gradient)[0], expected);
      EXPECT_TRUE(same_for_any_threads(take) && same_for_any_threads(gradient));
    }
  }
}

class Normalise : public TopK {};
INSTANTIATE_TEST_SUITE_P(Host, Normalise, every_float(), dtype_name);

TEST_P(Normalise, DividesByTheSumAndHasItsGradient) {
  for (const std::int64_t k : {1, 2, 3, 8}) {
    for (const std::int64_t rows : {0, 1, 19}) {
      Values x = random(7, rows * k);
      for (double& value : x) value = std::abs(value) + 0.25;
      x = rounded(dtype(), x);
      const Values dy = random(8, rows * k);
      const Shape shape{rows, 1, k};
      const Attributes record = Attributes::of(attributes::Factor{2.5});
      const KernelRun forward{"normalise", dtype(), {{dtype(), shape, x}}, {{dtype(), shape}}, record};
      EXPECT_TRUE(close(results_of(forward)[0], reference::normalise(x, k, 2.5), tolerance())) << k;
      const KernelRun gradient{
          "normalise_grad", dtype(), {{dtype(), shape, dy}, {dtype(), shape, x}}, {{dtype(), shape}}, record};
      const Values expected = numeric_gradient([&](const Values& v) { return reference::normalise(v, k, 2.5); }, x, dy);
      EXPECT_TRUE(close(results_of(gradient)[0], expected, std::max(4 * tolerance(), 1e-9), 1)) << k;
      EXPECT_TRUE(same_for_any_threads(forward) && same_for_any_threads(gradient));
    }
  }
}

TEST_P(Normalise, ScoresThatAreAllZeroCountNothing) {
  const KernelRun forward{"normalise",
                          dtype(),
                          {{dtype(), {1, 1, 2}, {0, 0}}},
                          {{dtype(), {1, 1, 2}}},
                          Attributes::of(attributes::Factor{1})};
  EXPECT_EQ(results_of(forward)[0], (Values{0, 0}));
  KernelRun gradient = forward;
  gradient.op = "normalise_grad";
  gradient.in.insert(gradient.in.begin(), {dtype(), {1, 1, 2}, {1, 2}});
  EXPECT_EQ(results_of(gradient)[0], (Values{0, 0}));
}

/// B45: what two of four experts count, with and without the division by the sum.
TEST(RouterWeights, OfAKnownRow) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Shape whole{1, 1, 4}, few{1, 1, 2};
    const Values scores = results_of({"softmax", dtype, {{dtype, whole, {2, 1, 0, -1}}}, {{dtype, whole}}})[0];
    const KernelRun top{"top_k",
                        dtype,
                        {{dtype, whole, scores}, TensorValue::absent(dtype, {4})},
                        {{DType::i32, few}},
                        Attributes::of(attributes::TopK{2})};
    const Values choice = results_of(top)[0];
    EXPECT_EQ(choice, (Values{0, 1}));
    const Values weights =
        results_of({"take", dtype, {{dtype, whole, scores}, {DType::i32, few, choice}}, {{dtype, few}}})[0];
    EXPECT_NEAR(weights[0], 0.6439143, 1e-6);
    EXPECT_NEAR(weights[1], 0.2368828, 1e-6);
    const Values shares = results_of(
        {"normalise", dtype, {{dtype, few, weights}}, {{dtype, few}}, Attributes::of(attributes::Factor{1})})[0];
    EXPECT_NEAR(shares[0], 0.7310586, 1e-6);
    EXPECT_NEAR(shares[1], 0.2689414, 1e-6);
  }
}

}  // namespace
}  // namespace tessera::test
