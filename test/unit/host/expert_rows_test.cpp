// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "kernel_fixture.hpp"
#include "test/support/reference_experts.hpp"

namespace tessera::test {
namespace {

using reference::ChoiceRule;
using reference::ExpertPlan;

KernelRun plan_run(const Values& choice, const Shape& tokens, std::int64_t experts, std::int64_t capacity,
                   std::int64_t round) {
  return {"expert_plan",
          DType::i64,
          {{DType::i32, tokens, choice}},
          {{DType::i32, {experts, 1, capacity}}, {DType::i32, {experts, 1}}, {DType::i32, {experts, 1}}},
          Attributes::of(attributes::ExpertRows{experts, tokens[2], 0}),
          0,
          {},
          static_cast<std::int32_t>(round)};
}

/// Choices [tokens, 1, k] of different experts per token.
Values choices(std::uint64_t seed, std::int64_t tokens, std::int64_t experts, std::int64_t k) {
  return reference::top_k(random_values(seed, tokens * experts), {}, {experts, k});
}

struct Extents {
  std::int64_t tokens, experts, k, capacity;
};
constexpr Extents k_extents[] = {{12, 4, 2, 12}, {12, 4, 2, 3},  {0, 4, 2, 0},   {0, 3, 1, 5},
                                 {1, 1, 1, 1},   {70, 64, 8, 4}, {33, 5, 5, 33}, {200, 7, 3, 50}};

TEST(ExpertPlan, RowsStandInTheOrderOfTokens) {
  for (const Extents& e : k_extents) {
    const Values choice = choices(1, e.tokens, e.experts, e.k);
    for (const std::int64_t round : {0, 1, 2, 7}) {
      const KernelRun run = plan_run(choice, {e.tokens, 1, e.k}, e.experts, e.capacity, round);
      const ExpertPlan expected = reference::expert_plan(choice, e.experts, e.capacity, round);
      EXPECT_EQ(results_of(run)[0], expected.index) << e.tokens << " round " << round;
      EXPECT_EQ(results_of(run)[1], expected.counts) << e.tokens << " round " << round;
      EXPECT_TRUE(same_for_any_threads(run));
    }
  }
}

TEST(ExpertPlan, RoundsTogetherHoldEveryChoiceOnce) {
  const Extents e{50, 6, 3, 7};
  const Values choice = choices(2, e.tokens, e.experts, e.k);
  std::vector<double> seen;
  const Values further = results_of(plan_run(choice, {e.tokens, 1, e.k}, e.experts, e.capacity, 0))[2];
  for (std::int64_t round = 0; round <= static_cast<std::int64_t>(*std::max_element(further.begin(), further.end()));
       ++round) {
    const auto results = results_of(plan_run(choice, {e.tokens, 1, e.k}, e.experts, e.capacity, round));
    for (const double place : results[0])
      if (place >= 0) seen.push_back(place);
  }
  std::sort(seen.begin(), seen.end());
  std::vector<double> all(static_cast<std::size_t>(e.tokens * e.k));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

TEST(ExpertPlan, AllTokensMayGoToOneExpert) {
  const auto results = results_of(plan_run(Values(5, 2.0), {5, 1, 1}, 4, 5, 0));
  EXPECT_EQ(results[1], (Values{0, 0, 5, 0}));
  EXPECT_EQ(Values(results[0].begin() + 10, results[0].begin() + 15), (Values{0, 1, 2, 3, 4}));
  EXPECT_EQ(std::count(results[0].begin(), results[0].end(), -1), 15);
}

TEST(ExpertPlan, OutputsThatNobodyReadsAreLeftOut) {
  const KernelRun all = plan_run(choices(3, 9, 4, 2), {3, 3, 2}, 4, 2, 0);
  const auto expected = results_of(all);
  for (std::size_t wanted : {0U, 1U, 2U}) {
    KernelRun some = all;
    for (std::size_t o = 0; o < some.out.size(); ++o)
      if (const Tensor other = some.out[o].tensor(); o != wanted)
        some.out[o] = TensorValue::absent(other.dtype, other.shape);
    EXPECT_EQ(results_of(some)[wanted], expected[wanted]);
  }
}

TEST(ExpertPlan, FurtherRoundsHoldWhatIsLeft) {
  // Rows per expert: 0, 3, 4, 9.
  Values choice(3, 1.0);
  choice.insert(choice.end(), 4, 2.0);
  choice.insert(choice.end(), 9, 3.0);
  const KernelRun run = plan_run(choice, {16, 1, 1}, 4, 3, 0);
  EXPECT_EQ(results_of(run)[2], (Values{0, 0, 1, 2}));
  EXPECT_EQ(results_of({"expert_rounds", DType::i64, {{DType::i32, {4, 1}, {0, 0, 1, 2}}}, {{DType::i32, {}}}})[0],
            (Values{2}));
}

class ExpertRows : public EveryFloat {
 protected:
  struct Case {
    Extents extents;
    Values choice, index;
    Shape tokens, rows;
  };
  /// Plans of all extents and of two rounds.
  static std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Extents& e : k_extents)
      for (const std::int64_t round : {0, 1}) {
        const Values choice = choices(4, e.tokens, e.experts, e.k);
        all.push_back({e,
                       choice,
                       reference::expert_plan(choice, e.experts, e.capacity, round).index,
                       {e.tokens, 1, e.k},
                       {e.experts, 1, e.capacity}});
      }
    return all;
  }

  KernelRun run(std::string_view op, DType type, const Case& c, const Shape& in, const Values& values,
                const Shape& out) const {
    return {
        op, type, {{type, in, values}, {DType::i32, c.rows, c.index}, {DType::i32, c.tokens, c.choice}}, {{type, out}}};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, ExpertRows, every_float(), dtype_name);

TEST_P(ExpertRows, GoThereAndBack) {
  for (const Case& c : cases()) {
    for (const std::int64_t width : {1, 8, 515}) {
      const Extents& e = c.extents;
      const Shape tokens{e.tokens, 1, width}, rows{e.experts, 1, e.capacity, width};
      const Values x = random(5, tokens.count());
      const KernelRun take = run("take_rows", dtype(), c, tokens, x, rows);
      EXPECT_EQ(results_of(take)[0], reference::take_rows(x, c.index, width, e.k));
      const Values d = random(6, rows.count());
      const KernelRun put = run("put_rows", dtype(), c, rows, d, tokens);
      EXPECT_TRUE(close(results_of(put)[0], reference::put_rows(d, c.index, e.tokens, width, e.k), tolerance()));
      EXPECT_TRUE(same_for_any_threads(take) && same_for_any_threads(put)) << e.tokens << " " << width;
    }
  }
}

TEST_P(ExpertRows, GatesGoThereAndBack) {
  for (const Case& c : cases()) {
    const Values weights = random(7, c.tokens.count()), d = random(8, c.rows.count());
    const KernelRun take = run("take_gates", dtype(), c, c.tokens, weights, c.rows);
    Values gates(d.size(), 0.0), back(weights.size(), 0.0);
    for (std::size_t row = 0; row < gates.size(); ++row) {
      if (c.index[row] < 0) continue;
      gates[row] = weights[static_cast<std::size_t>(c.index[row])];
      back[static_cast<std::size_t>(c.index[row])] = d[row];
    }
    EXPECT_EQ(results_of(take)[0], gates);
    const KernelRun put = run("put_gates", dtype(), c, c.rows, d, c.tokens);
    EXPECT_EQ(results_of(put)[0], back);
    EXPECT_TRUE(same_for_any_threads(take) && same_for_any_threads(put));
  }
}

TEST_P(ExpertRows, AreScaledByTheirGates) {
  for (const Shape& rows : {Shape{4, 2, 5, 7}, Shape{1, 1, 1, 1}, Shape{3, 0, 5, 4}, Shape{2, 3, 9, 600}}) {
    const Shape gates{rows[0], rows[1], rows[2]};
    const Values x = random(9, rows.count()), y = random(10, rows.count());
    const Values g = rounded(sums(), random_values(11, gates.count()));
    const KernelRun scale{"row_scale", dtype(), {{dtype(), rows, x}, {sums(), gates, g}}, {{dtype(), rows}}};
    Values scaled = x, dots(g.size(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      scaled[i] *= g[i / static_cast<std::size_t>(rows[3])];
      dots[i / static_cast<std::size_t>(rows[3])] += x[i] * y[i];
    }
    EXPECT_TRUE(close(results_of(scale)[0], scaled, tolerance()));
    const KernelRun dot{"row_dot", dtype(), {{dtype(), rows, x}, {dtype(), rows, y}}, {{sums(), gates}}};
    EXPECT_TRUE(close(results_of(dot)[0], dots, 4 * tolerance_of(sums())));
    EXPECT_TRUE(same_for_any_threads(scale) && same_for_any_threads(dot));
  }
}

}  // namespace
}  // namespace tessera::test
