// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "attention_cases.hpp"

namespace tessera::test {
namespace {

class AttentionGrad : public EveryFloat {
 protected:
  /// Gradients of random do and dlse. The kernel gets o and lse of the reference, rounded.
  KernelRun run(const reference::AttentionInputs& in, const Values& o_gradient, const Values& lse_gradient) const {
    const auto forward = reference::attention(in);
    const Shape q{in.queries, in.batch, in.heads, in.head_dim}, k{in.keys, in.batch, in.kv_heads, in.head_dim};
    const Shape statistics{in.queries, in.batch, in.heads};
    KernelRun made{"attention_grad", dtype(), {}, {{dtype(), q}, {dtype(), k}, {dtype(), k}}, attributes_of(in)};
    made.in.emplace_back(dtype(), q, o_gradient);
    made.in.push_back(lse_gradient.empty() ? TensorValue::absent(sums(), statistics)
                                           : TensorValue(sums(), statistics, lse_gradient));
    for (const TensorValue& operand : operands(in, dtype())) made.in.push_back(operand);
    made.in.emplace_back(dtype(), q, forward.o);
    made.in.emplace_back(sums(), statistics, forward.lse);
    return made;
  }

  /// Probabilities from rounded scores and D from a rounded o: errors of several roundings.
  double accepted() const { return 4 * tolerance(); }

  void check(const reference::AttentionInputs& in, const Values& o_gradient, const Values& lse_gradient) const {
    const auto expected = reference::attention_grad(in, o_gradient, lse_gradient);
    const KernelRun kernel = run(in, o_gradient, lse_gradient);
    const auto results = results_of(kernel);
    EXPECT_TRUE(close(results[0], expected.q, accepted()));
    EXPECT_TRUE(close(results[1], expected.k, accepted()));
    EXPECT_TRUE(close(results[2], expected.v, accepted()));
    EXPECT_TRUE(same_for_any_threads(kernel));
  }
};
INSTANTIATE_TEST_SUITE_P(Host, AttentionGrad, every_float(), dtype_name);

TEST_P(AttentionGrad, FollowsTheFormulas) {
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(describe(c));
    const auto in = make_inputs(c, dtype(), 21);
    const auto count = static_cast<std::int64_t>(in.q.size());
    check(in, random(31, count), rounded(sums(), random_values(32, c.queries * c.batch * c.heads)));
    check(in, random(31, count), {});
  }
}

TEST_P(AttentionGrad, WritesOnlyOutputsThatAreRead) {
  const auto in = make_inputs({100, 140, 1, 4, 2, 10}, dtype(), 4);
  KernelRun all = run(in, random(5, 100 * 40), {});
  const auto expected = results_of(all);
  for (std::size_t i = 0; i < 3; ++i) {
    KernelRun some = all;
    for (std::size_t j = 0; j < 3; ++j)
      if (j != i) some.out[j] = TensorValue::absent(dtype(), all.out[j].tensor().shape);
    EXPECT_EQ(results_of(some)[i], expected[i]);
  }
}

TEST_P(AttentionGrad, BadLseOfUnseenQueriesStaysOut) {
  const auto in = make_inputs({20, 130, 1, 1, 1, 4, Order::no_key_visible}, dtype(), 3);
  for (const Values& gradient : results_of(run(in, random(5, 80), random(6, 20))))
    EXPECT_EQ(gradient, Values(gradient.size(), 0.0));
}

TEST(AttentionReference, GradientIsTheDerivative) {
  const AttentionCase cases[] = {{7, 9, 2, 4, 2, 3, Order::causal, 2}, {6, 8, 1, 1, 1, 4, Order::shuffled}};
  for (const AttentionCase& c : cases) {
    const auto in = make_inputs(c, DType::f64, 8);
    const auto count = static_cast<std::int64_t>(in.q.size()), rows = c.queries * c.batch * c.heads;
    const Values o_gradient = random_values(1, count), lse_gradient = random_values(2, rows);
    Values both = o_gradient;
    both.insert(both.end(), lse_gradient.begin(), lse_gradient.end());
    const auto numeric = [&](Values reference::AttentionInputs::*operand) {
      const auto outputs = [&](const Values& values) {
        auto moved = in;
        moved.*operand = values;
        const auto out = reference::attention(moved);
        Values all = out.o;
        for (const double lse : out.lse) all.push_back(std::isinf(lse) ? 0 : lse);
        return all;
      };
      return numeric_gradient(outputs, in.*operand, both);
    };
    const auto gradients = reference::attention_grad(in, o_gradient, lse_gradient);
    EXPECT_TRUE(close(gradients.q, numeric(&reference::AttentionInputs::q), 1e-9));
    EXPECT_TRUE(close(gradients.k, numeric(&reference::AttentionInputs::k), 1e-9));
    EXPECT_TRUE(close(gradients.v, numeric(&reference::AttentionInputs::v), 1e-9));
  }
}

}  // namespace
}  // namespace tessera::test
