// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "attention_cases.hpp"

namespace tessera::test {
namespace {

class Attention : public EveryFloat {
 protected:
  KernelRun run(const reference::AttentionInputs& in) const {
    return {"attention",
            dtype(),
            operands(in, dtype()),
            {{dtype(), {in.queries, in.batch, in.heads, in.head_dim}}, {sums(), {in.queries, in.batch, in.heads}}},
            attributes_of(in)};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Attention, every_float(), dtype_name);

TEST_P(Attention, IsTheSoftmaxOverVisibleKeys) {
  for (const AttentionCase& c : attention_cases()) {
    const auto in = make_inputs(c, dtype(), 11);
    const auto results = results_of(run(in));
    const auto expected = reference::attention(in);
    EXPECT_TRUE(close(results[0], expected.o, tolerance())) << describe(c);
    EXPECT_TRUE(close(results[1], expected.lse, tolerance_of(sums()))) << describe(c);
    EXPECT_TRUE(same_for_any_threads(run(in))) << describe(c);
  }
}

TEST_P(Attention, QueriesWithoutVisibleKeyGiveZero) {
  const auto in = make_inputs({20, 130, 1, 1, 1, 4, Order::no_key_visible}, dtype(), 3);
  const auto results = results_of(run(in));
  EXPECT_EQ(results[0], Values(80, 0.0));
  EXPECT_EQ(results[1], Values(20, -HUGE_VAL));
}

TEST_P(Attention, LargeScoresDoNotOverflow) {
  auto in = make_inputs({50, 200, 1, 1, 1, 8}, dtype(), 5);
  in.scale = 400;
  EXPECT_TRUE(close(results_of(run(in))[0], reference::attention(in).o, 30 * tolerance()));
}

TEST_P(Attention, WithoutDocumentsAllTokensAreInOne) {
  const auto in = make_inputs({30, 30, 1, 2, 2, 8}, dtype(), 7);
  KernelRun without = run(in);
  without.in[5] = TensorValue::absent(DType::i32, {30, 1});
  without.in[6] = TensorValue::absent(DType::i32, {30, 1});
  EXPECT_EQ(results_of(without), results_of(run(in)));
}

TEST_P(Attention, PartsOfTheQueriesGiveTheSameBits) {
  const auto in = make_inputs({200, 200, 1, 2, 2, 16}, dtype(), 9);
  const Values whole = results_of(run(in))[0];
  auto part = in;
  part.queries = 73;
  const std::int64_t first = 61, width = 2 * 16;
  part.q.assign(in.q.begin() + first * width, in.q.begin() + (first + 73) * width);
  part.q_position.assign(in.q_position.begin() + first, in.q_position.begin() + first + 73);
  part.q_document.assign(73, 0.0);
  EXPECT_EQ(results_of(run(part))[0], Values(whole.begin() + first * width, whole.begin() + (first + 73) * width));
}

}  // namespace
}  // namespace tessera::test
