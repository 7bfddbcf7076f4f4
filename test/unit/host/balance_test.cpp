// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernel_fixture.hpp"
#include "test/support/reference_experts.hpp"

namespace tessera::test {
namespace {

using reference::RouterExtents;

constexpr std::pair<std::int64_t, RouterExtents> k_extents[] = {{6, {3, 2, 4, 6}},    {5, {1, 1, 1, 5}},
                                                                {0, {2, 2, 4, 9}},    {3, {0, 2, 4, 3}},
                                                                {37, {2, 8, 64, 50}}, {70, {5, 3, 129, 70}}};

Attributes length(std::int64_t sequence) {
  return Attributes::of(attributes::Extent{sequence});
}

/// A part of tokens [s, b] of a sequence that may be longer.
class Balance : public EveryFloat {
 protected:
  KernelRun share_run(const Values& choice, std::int64_t tokens, const RouterExtents& e) const {
    return {"expert_share",
            DType::f64,
            {{DType::i32, {tokens, e.batch, e.k}, choice}},
            {{DType::f64, {e.batch, e.experts}}},
            Attributes::of(attributes::ExpertShare{e.experts, e.k, e.sequence})};
  }
  KernelRun mean_run(const Values& scores, std::int64_t tokens, const RouterExtents& e) const {
    return {"sequence_mean",
            dtype(),
            {{dtype(), {tokens, e.batch, e.experts}, scores}},
            {{sums(), {e.batch, e.experts}}},
            length(e.sequence)};
  }
  KernelRun z_run(const Values& logits, std::int64_t tokens, const RouterExtents& e) const {
    return {"z_loss",
            dtype(),
            {{dtype(), {tokens, e.batch, e.experts}, logits}},
            {{DType::f64, Shape{}}},
            length(e.sequence)};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Balance, every_float(), dtype_name);

TEST_P(Balance, SharesOfChoicesAreCounted) {
  for (const auto& [tokens, e] : k_extents) {
    const Values choice = random_integers(1, tokens * e.batch * e.k, 0, e.experts);
    const KernelRun run = share_run(choice, tokens, e);
    EXPECT_TRUE(close(results_of(run)[0], reference::expert_share(choice, e), 1e-14)) << tokens;
    EXPECT_TRUE(same_for_any_threads(run)) << tokens;
  }
}

TEST_P(Balance, LoadsAreWholeNumbersAndAccumulate) {
  for (const auto& [tokens, e] : k_extents) {
    const Shape choices{tokens, e.batch, e.k};
    const Values choice = random_integers(10, choices.count(), 0, e.experts);
    const Values expected = reference::expert_load(choice, e.experts);
    KernelRun run{"expert_load",
                  sums(),
                  {{DType::i32, choices, choice}},
                  {{sums(), {e.experts}}},
                  Attributes::of(attributes::ExpertLoad{e.experts, sums()})};
    EXPECT_EQ(results_of(run)[0], expected) << tokens;
    run.out = {{sums(), {e.experts}, Values(static_cast<std::size_t>(e.experts), 3.0)}};
    run.accumulate = 1;
    EXPECT_EQ(results_of(run)[0], reference::add(Values(static_cast<std::size_t>(e.experts), 3.0), expected)) << tokens;
  }
}

/// Two layers of three experts with a gap between them: the mean is a layer's own, and what meets it stays.
TEST(BalanceBias, MovesTowardsExpertsBelowTheMean) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Values bias{0.5, -0.25, 1, 77, 0, 0, 0.125}, load{9, 4, 5, 1e6, 7, 7, 7};
    KernelRun run{"balance_bias",
                  dtype,
                  {{dtype, {1, 7}, bias}, {dtype, {1, 7}, load}, {DType::f64, {3}, Values{1, 0.25, 0}}},
                  {},
                  Attributes::of(attributes::BalanceBias{0.125, 3, 4})};
    run_kernel(run);
    EXPECT_EQ(run.in[0].values(), (Values{0.375, -0.125, 1.125, 77, 0, 0, 0.125}));
    run.in[2] = {DType::f64, {3}, Values{1, 0, 1}};  // skipped
    run_kernel(run);
    EXPECT_EQ(run.in[0].values(), (Values{0.375, -0.125, 1.125, 77, 0, 0, 0.125}));
  }
}

TEST_P(Balance, MeansOverTheWholeSequence) {
  for (const auto& [tokens, e] : k_extents) {
    const Values scores = random(2, tokens * e.batch * e.experts);
    const KernelRun run = mean_run(scores, tokens, e);
    EXPECT_TRUE(close(results_of(run)[0], reference::sequence_mean(scores, e), 4 * tolerance_of(sums()))) << tokens;
    EXPECT_TRUE(same_for_any_threads(run)) << tokens;
  }
}

TEST_P(Balance, GradientOfTheMeanGoesToEveryToken) {
  for (const auto& [tokens, e] : k_extents) {
    for (const DType from : {DType::f64, sums()}) {
      const Shape mean{e.batch, e.experts}, scores{tokens, e.batch, e.experts};
      const Values d = rounded(from, random_values(3, mean.count()));
      const KernelRun run{"sequence_mean_grad",
                          from,
                          {{from, mean, d}, {dtype(), scores, random(4, scores.count())}},
                          {{dtype(), scores}},
                          length(e.sequence)};
      Values expected;
      for (std::int64_t i = 0; i < scores.count(); ++i)
        expected.push_back(d[static_cast<std::size_t>(i % mean.count())] / static_cast<double>(e.sequence));
      EXPECT_TRUE(close(results_of(run)[0], expected, tolerance())) << tokens;
      EXPECT_TRUE(same_for_any_threads(run)) << tokens;
    }
  }
}

TEST_P(Balance, LossIsTheProductOfBothAndAccumulates) {
  for (const Shape& shape : {Shape{3, 4}, Shape{1, 1}, Shape{0, 8}, Shape{7, 33}}) {
    const Values share = random_values(5, shape.count()), mean = rounded(sums(), random_values(6, shape.count()));
    KernelRun run{
        "balance_loss", DType::f64, {{DType::f64, shape, share}, {sums(), shape, mean}}, {{DType::f64, Shape{}}}};
    EXPECT_NEAR(results_of(run)[0][0], reference::masked_sum(share, mean), 1e-14);
    run.out = {{DType::f64, Shape{}, {3}}};
    run.accumulate = 1;
    EXPECT_NEAR(results_of(run)[0][0], 3 + reference::masked_sum(share, mean), 1e-14);
    const KernelRun gradient{"balance_loss_grad",
                             DType::f64,
                             {{DType::f64, Shape{}, {0.7}}, {DType::f64, shape, share}},
                             {{DType::f64, shape}}};
    EXPECT_TRUE(close(
        results_of(gradient)[0],
        numeric_gradient([&](const Values& v) { return Values{reference::masked_sum(share, v)}; }, mean, {0.7}), 1e-9));
  }
}

TEST_P(Balance, SquareOfTheLogSumAndItsGradient) {
  for (const auto& [tokens, e] : k_extents) {
    const Shape shape{tokens, e.batch, e.experts};
    const Values logits = random(7, shape.count());
    KernelRun run = z_run(logits, tokens, e);
    const double expected = reference::z_loss(logits, e);
    EXPECT_NEAR(results_of(run)[0][0], expected, 4 * tolerance_of(sums()) * (1 + expected)) << tokens;
    EXPECT_TRUE(same_for_any_threads(run)) << tokens;
    run.out = {{DType::f64, Shape{}, {2}}};
    run.accumulate = 1;
    EXPECT_NEAR(results_of(run)[0][0], 2 + expected, 4 * tolerance_of(sums()) * (1 + expected)) << tokens;
    if (shape.count() > 3000) continue;  // differences cost the square
    const KernelRun gradient{"z_loss_grad",
                             DType::f64,
                             {{DType::f64, Shape{}, {1.5}}, {dtype(), shape, logits}},
                             {{dtype(), shape}},
                             length(e.sequence)};
    EXPECT_TRUE(
        close(results_of(gradient)[0],
              numeric_gradient([e = e](const Values& v) { return Values{reference::z_loss(v, e)}; }, logits, {1.5}),
              std::max(4 * tolerance(), 1e-9)))
        << tokens;
    EXPECT_TRUE(same_for_any_threads(gradient)) << tokens;
  }
}

/// However a sequence is cut, the parts' results add up to the whole's.
TEST_P(Balance, PartsOfASequenceSumToTheWhole) {
  const RouterExtents e{2, 2, 5, 12};
  const Values logits = random(8, 12 * e.batch * e.experts);
  const Values choice = random_integers(9, 12 * e.batch * e.k, 0, e.experts);
  Values share(static_cast<std::size_t>(e.batch * e.experts), 0.0), mean = share;
  double z = 0;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 5}, {5, 12}}) {
    const auto part = [&, b = begin, t = end](const Values& all, std::int64_t width) {
      return Values(all.begin() + b * e.batch * width, all.begin() + t * e.batch * width);
    };
    share = reference::add(share, results_of(share_run(part(choice, e.k), end - begin, e))[0]);
    mean = reference::add(mean, results_of(mean_run(part(logits, e.experts), end - begin, e))[0]);
    z += results_of(z_run(part(logits, e.experts), end - begin, e))[0][0];
  }
  EXPECT_TRUE(close(share, results_of(share_run(choice, 12, e))[0], 1e-14));
  EXPECT_TRUE(close(mean, results_of(mean_run(logits, 12, e))[0], 2 * tolerance_of(sums())));
  EXPECT_NEAR(z, results_of(z_run(logits, 12, e))[0][0], 4 * tolerance_of(sums()) * z);
}

/// B27: f = [.5 .25 .25 0] and P = [.4 .3 .2 .1] of four experts give 1.3, an even router 1.
TEST(BalanceLoss, OfAKnownSequence) {
  const auto loss = [](const Values& choice, const Values& scores) {
    const Shape shape{1, 4};
    const Values share = results_of({"expert_share",
                                     DType::f64,
                                     {{DType::i32, {4, 1, 1}, choice}},
                                     {{DType::f64, shape}},
                                     Attributes::of(attributes::ExpertShare{4, 1, 4})})[0];
    Values all;
    for (int token = 0; token < 4; ++token) all.insert(all.end(), scores.begin(), scores.end());
    const Values mean =
        results_of({"sequence_mean", DType::f64, {{DType::f64, {4, 1, 4}, all}}, {{DType::f64, shape}}, length(4)})[0];
    return results_of({"balance_loss",
                       DType::f64,
                       {{DType::f64, shape, share}, {DType::f64, shape, mean}},
                       {{DType::f64, Shape{}}}})[0][0];
  };
  EXPECT_NEAR(loss({0, 0, 1, 2}, {0.4, 0.3, 0.2, 0.1}), 1.3, 1e-12);
  EXPECT_NEAR(loss({3, 1, 0, 2}, {0.25, 0.25, 0.25, 0.25}), 1, 1e-12);
}

TEST(AuxiliarySeed, IsTheScaledCoefficient) {
  const KernelRun run{
      "auxiliary_seed",    DType::f64, {}, {{DType::f64, Shape{}}}, Attributes::of(attributes::Factor{0.25}), 0,
      {.loss_scale = 1024}};
  EXPECT_EQ(results_of(run)[0][0], 256);
}

}  // namespace
}  // namespace tessera::test
