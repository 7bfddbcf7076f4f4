// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "attention_cases.hpp"

namespace tessera::test {
namespace {

using reference::AttentionOutputs;

constexpr double k_infinity = HUGE_VAL;

class LseMerge : public EveryFloat {
 protected:
  /// Outputs of attention over some of the keys, as the element types hold them. `width` elements per row.
  struct Pair {
    AttentionOutputs first, second;
    std::int64_t rows, width;
  };

  Pair random_pair(std::int64_t rows, std::int64_t width, std::uint64_t seed) const {
    Pair pair{{random(seed, rows * width), rounded(sums(), random_values(seed + 1, rows))},
              {random(seed + 2, rows * width), rounded(sums(), random_values(seed + 3, rows))},
              rows,
              width};
    for (std::size_t row = 0; row < pair.first.lse.size(); ++row) {  // neither, one and both have seen a key
      if (row % 5 == 1 || row % 5 == 3) pair.first.lse[row] = -k_infinity;
      if (row % 5 == 2 || row % 5 == 3) pair.second.lse[row] = -k_infinity;
    }
    return pair;
  }

  KernelRun run(const Pair& p) const {
    const Shape o{p.rows, 1, 1, p.width}, lse{p.rows, 1, 1};
    return {
        "lse_merge",
        dtype(),
        {{dtype(), o, p.first.o}, {sums(), lse, p.first.lse}, {dtype(), o, p.second.o}, {sums(), lse, p.second.lse}},
        {{dtype(), o}, {sums(), lse}}};
  }

  /// The gradient kernel on the outputs that the merge kernel gave.
  KernelRun gradient_run(const Pair& p, const Values& o_gradient, const Values& lse_gradient) const {
    const auto merged = results_of(run(p));
    const Shape o{p.rows, 1, 1, p.width}, lse{p.rows, 1, 1};
    KernelRun gradient{"lse_merge_grad", dtype(), {{dtype(), o, o_gradient}}, {}};
    gradient.in.push_back(lse_gradient.empty() ? TensorValue::absent(sums(), lse)
                                               : TensorValue{sums(), lse, lse_gradient});
    for (const TensorValue& in : run(p).in) gradient.in.push_back(in);
    gradient.in.emplace_back(dtype(), o, merged[0]);
    gradient.in.emplace_back(sums(), lse, merged[1]);
    gradient.out = {{dtype(), o}, {sums(), lse}, {dtype(), o}, {sums(), lse}};
    return gradient;
  }
};
INSTANTIATE_TEST_SUITE_P(Host, LseMerge, every_float(), dtype_name);

TEST_P(LseMerge, WeighsEveryRow) {
  for (const auto& [rows, width] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {20, 7}, {0, 8}, {33, 130}, {7, 1027}}) {
    const Pair pair = random_pair(rows, width, 3);
    const auto results = results_of(run(pair));
    const AttentionOutputs expected = reference::lse_merge(pair.first, pair.second);
    EXPECT_TRUE(close(results[0], expected.o, tolerance())) << rows << " x " << width;
    EXPECT_TRUE(close(results[1], expected.lse, tolerance_of(sums()))) << rows << " x " << width;
    EXPECT_TRUE(same_for_any_threads(run(pair))) << rows << " x " << width;
  }
}

TEST_P(LseMerge, FarApartStatisticsDoNotOverflow) {
  const Pair pair{{{1, 2}, {900}}, {{3, 4}, {-900}}, 1, 2};
  const auto results = results_of(run(pair));
  EXPECT_EQ(results[0], (Values{1, 2}));
  EXPECT_EQ(results[1], Values{900});
}

/// Attention over the keys in three pieces, merged one after the other, is attention over all of them.
TEST_P(LseMerge, PiecesOfTheKeysMakeTheWhole) {
  if (dtype() == DType::bf16 || dtype() == DType::f16) GTEST_SKIP() << "outputs in between are rounded";
  for (const AttentionCase& c : attention_cases()) {
    const auto in = make_inputs(c, dtype(), 17);
    const AttentionOutputs whole = reference::attention(in);
    const std::int64_t rows = in.queries * in.batch * in.heads;
    Pair pair{{}, {}, rows, in.head_dim};
    for (int piece = 0; piece < 3; ++piece) {
      const std::int64_t begin = in.keys * piece / 3, end = in.keys * (piece + 1) / 3;
      auto part = in;
      part.keys = end - begin;
      const auto cut = [&](Values& values, std::int64_t row) {
        values = Values(values.begin() + begin * row, values.begin() + end * row);
      };
      for (Values* values : {&part.k, &part.v}) cut(*values, in.batch * in.kv_heads * in.head_dim);
      for (Values* values : {&part.k_position, &part.k_document}) cut(*values, in.batch);
      (piece == 0 ? pair.first : pair.second) = reference::attention(part);
      if (piece == 0) continue;
      const auto merged = results_of(run(pair));
      pair.first = {merged[0], merged[1]};
    }
    EXPECT_TRUE(close(pair.first.o, whole.o, 10 * tolerance())) << describe(c);
    EXPECT_TRUE(close(pair.first.lse, whole.lse, 10 * tolerance())) << describe(c);
  }
}

TEST_P(LseMerge, TheOutputMayLieOverTheFirstInput) {
  const Pair pair = random_pair(23, 37, 5);
  KernelRun separate = run(pair), over = run(pair);
  const Tensor in[] = {over.in[0].tensor(), over.in[1].tensor(), over.in[2].tensor(), over.in[3].tensor()};
  const Tensor out[] = {over.in[0].tensor(), over.out[1].tensor()};
  launch_kernel("lse_merge", dtype(), in, out);
  EXPECT_EQ(over.in[0].values(), results_of(separate)[0]);
}

TEST_P(LseMerge, GradientIsTheDerivative) {
  const Pair pair = random_pair(20, 9, 7);
  const Values o_gradient = random(21, 180), lse_gradient = rounded(sums(), random_values(22, 20));
  // Rows that nobody saw have lse = −inf, whose derivative is nothing: their rows of the reference are set to 0.
  const auto seen = [&](Values lse) {
    for (double& x : lse) x = std::isinf(x) ? 0 : x;
    return lse;
  };
  for (const bool with_lse : {true, false}) {
    const auto results = results_of(gradient_run(pair, o_gradient, with_lse ? lse_gradient : Values{}));
    for (int part : {0, 1}) {
      const auto merged = [&](const Values& o, const Values& lse) {
        Pair changed = pair;
        AttentionOutputs& one = part == 0 ? changed.first : changed.second;
        one.o = o;
        for (std::size_t row = 0; row < lse.size(); ++row)
          if (!std::isinf(one.lse[row])) one.lse[row] = lse[row];
        return reference::lse_merge(changed.first, changed.second);
      };
      const AttentionOutputs& at = part == 0 ? pair.first : pair.second;
      const Values start = seen(at.lse);
      Values both_gradients = o_gradient;
      if (with_lse) both_gradients.insert(both_gradients.end(), lse_gradient.begin(), lse_gradient.end());
      const auto flat = [&](const AttentionOutputs& out) {
        Values values = out.o;
        const Values lse = seen(out.lse);
        if (with_lse) values.insert(values.end(), lse.begin(), lse.end());
        return values;
      };
      const Values from_o =
          numeric_gradient([&](const Values& o) { return flat(merged(o, start)); }, at.o, both_gradients);
      const Values from_lse =
          numeric_gradient([&](const Values& lse) { return flat(merged(at.o, lse)); }, start, both_gradients);
      const auto first = static_cast<std::size_t>(2 * part);
      EXPECT_TRUE(close(results[first], from_o, std::max(tolerance(), 1e-9))) << part;
      EXPECT_TRUE(close(results[first + 1], from_lse, std::max(4 * tolerance(), 1e-9))) << part;
    }
  }
}

TEST_P(LseMerge, GradientsThatNobodyReadsAreLeftOut) {
  const Pair pair = random_pair(11, 5, 9);
  const KernelRun all = gradient_run(pair, random(31, 55), rounded(sums(), random_values(32, 11)));
  const auto expected = results_of(all);
  EXPECT_TRUE(same_for_any_threads(all));
  for (std::size_t wanted = 0; wanted < 4; ++wanted) {
    KernelRun some = all;
    for (std::size_t o = 0; o < 4; ++o)
      if (o != wanted) some.out[o] = TensorValue::absent(some.out[o].tensor().dtype, some.out[o].tensor().shape);
    EXPECT_EQ(results_of(some)[wanted], expected[wanted]) << wanted;
  }
}

}  // namespace
}  // namespace tessera::test
