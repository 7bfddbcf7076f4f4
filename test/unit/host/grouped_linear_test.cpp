// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernel_fixture.hpp"
#include "test/support/reference_experts.hpp"

namespace tessera::test {
namespace {

using reference::GroupedExtents;

constexpr GroupedExtents k_extents[] = {{4, 1, 5, 3, 7},     {3, 2, 4, 17, 33}, {1, 1, 1, 1, 1},   {0, 2, 3, 4, 5},
                                        {2, 3, 0, 4, 5},     {2, 0, 3, 4, 5},   {4, 3, 9, 64, 31}, {2, 2, 40, 300, 34},
                                        {5, 1, 16, 48, 130}, {2, 1, 3, 0, 5},   {2, 1, 3, 5, 0},   {1, 3, 400, 5, 6},
                                        {1, 2, 50, 520, 530}};

enum class Counts { random, none, all, in_one_part, of_one_expert };

/// Rows behind the counts are NaN: they must not be read.
class GroupedLinear : public EveryFloat {
 protected:
  static Values counts(const GroupedExtents& e, Counts kind, std::uint64_t seed) {
    Values counts = random_integers(seed, e.experts * e.parts, 0, e.capacity + 1);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(counts.size()); ++i) {
      double& count = counts[static_cast<std::size_t>(i)];
      if (kind == Counts::all) count = static_cast<double>(e.capacity);
      if (kind == Counts::none || (kind == Counts::in_one_part && i % e.parts != e.parts / 2) ||
          (kind == Counts::of_one_expert && i / e.parts != e.experts - 1))
        count = 0;
    }
    return counts;
  }

  Values rows(std::uint64_t seed, const GroupedExtents& e, std::int64_t width, const Values& counts) const {
    Values x = random(seed, e.rows() * width);
    for (std::int64_t i = 0; i < e.rows() * width; ++i)
      if (i / width % e.capacity >= static_cast<std::int64_t>(counts[static_cast<std::size_t>(i / width / e.capacity)]))
        x[static_cast<std::size_t>(i)] = NAN;
    return x;
  }

  TensorValue tensor(const GroupedExtents& e, std::int64_t width, const Values& x) const {
    return {dtype(), {e.experts, e.parts, e.capacity, width}, x};
  }
  TensorValue result(const GroupedExtents& e, std::int64_t width) const {
    return {dtype(), {e.experts, e.parts, e.capacity, width}};
  }
  TensorValue weights(const GroupedExtents& e, const Values& w) const { return {dtype(), {e.experts, e.out, e.in}, w}; }
  static TensorValue tensor(const GroupedExtents& e, const Values& counts) {
    return {DType::i32, {e.experts, e.parts}, counts};
  }

  template <class Check>
  void for_all(const Check& check) const {
    std::uint64_t seed = 10;
    for (const GroupedExtents& e : k_extents)
      for (const Counts kind :
           {Counts::random, Counts::none, Counts::all, Counts::in_one_part, Counts::of_one_expert}) {
        SCOPED_TRACE(testing::Message() << e.experts << " " << e.parts << " " << e.capacity << " " << e.in << " "
                                        << e.out << " counts " << static_cast<int>(kind));
        check(e, counts(e, kind, ++seed));
      }
  }
};
INSTANTIATE_TEST_SUITE_P(Host, GroupedLinear, every_float(), dtype_name);

TEST_P(GroupedLinear, IsOneProductPerExpert) {
  for_all([&](const GroupedExtents& e, const Values& counts) {
    const Values x = rows(1, e, e.in, counts), w = random(2, e.experts * e.out * e.in);
    const KernelRun run{
        "grouped_linear", dtype(), {tensor(e, e.in, x), weights(e, w), tensor(e, counts)}, {result(e, e.out)}};
    EXPECT_TRUE(close(results_of(run)[0], reference::grouped_linear(x, w, counts, e), tolerance()));
    EXPECT_TRUE(same_for_any_threads(run));
  });
}

TEST_P(GroupedLinear, InputGradientIsOneProductPerExpert) {
  for_all([&](const GroupedExtents& e, const Values& counts) {
    const Values dy = rows(3, e, e.out, counts), w = random(4, e.experts * e.out * e.in);
    const KernelRun run{
        "grouped_linear_dx", dtype(), {tensor(e, e.out, dy), weights(e, w), tensor(e, counts)}, {result(e, e.in)}};
    EXPECT_TRUE(close(results_of(run)[0], reference::grouped_linear_dx(dy, w, counts, e), tolerance()));
    EXPECT_TRUE(same_for_any_threads(run));
  });
}

TEST_P(GroupedLinear, WeightGradientIsOneProductPerExpertAndAccumulates) {
  for_all([&](const GroupedExtents& e, const Values& counts) {
    const Values dy = rows(5, e, e.out, counts), x = rows(6, e, e.in, counts);
    const Values before = rounded(sums(), random_values(7, e.experts * e.out * e.in));
    const Shape shape{e.experts, e.out, e.in};
    KernelRun run{
        "grouped_linear_dw", dtype(), {tensor(e, e.out, dy), tensor(e, e.in, x), tensor(e, counts)}, {{sums(), shape}}};
    const Values expected = reference::grouped_linear_dw(dy, x, counts, e);
    EXPECT_TRUE(close(results_of(run)[0], expected, tolerance_of(sums())));
    EXPECT_TRUE(same_for_any_threads(run));
    run.out = {{sums(), shape, before}};
    run.accumulate = 1;
    EXPECT_TRUE(close(results_of(run)[0], reference::add(expected, before), tolerance_of(sums())));
    EXPECT_TRUE(same_for_any_threads(run));
  });
}

/// What a row gives does not depend on the part in which it came, nor on how many others there are.
TEST_P(GroupedLinear, RowsOfPartsAreThoseOfOnePart) {
  if (dtype() == DType::f32) GTEST_SKIP() << "a library's products may differ with the number of rows";
  const GroupedExtents apart{2, 3, 40, 530, 70}, together{2, 1, 120, 530, 70};
  const Values few{3, 0, 9, 40, 1, 40};
  const Values x = rows(8, apart, apart.in, few), w = random(9, 2 * 70 * 530);
  Values joined(static_cast<std::size_t>(together.rows() * together.in), NAN);
  std::vector<std::int64_t> from;  // of each row that is joined, by expert
  for (std::int64_t expert = 0, to = 0; expert < 2; ++expert) {
    to = expert * 120;
    for (std::int64_t part = 0; part < 3; ++part)
      for (std::int64_t row = 0; row < static_cast<std::int64_t>(few[static_cast<std::size_t>(expert * 3 + part)]);
           ++row, ++to) {
        const std::int64_t at = (expert * 3 + part) * 40 + row;
        std::copy_n(x.begin() + at * apart.in, apart.in, joined.begin() + to * apart.in);
        from.push_back(at);
      }
  }
  const auto of = [&](const GroupedExtents& e, const Values& values, const Values& counts) {
    return results_of({"grouped_linear",
                       dtype(),
                       {tensor(e, e.in, values), weights(e, w), tensor(e, counts)},
                       {result(e, e.out)}})[0];
  };
  const Values y = of(apart, x, few), z = of(together, joined, {12, 81});
  for (std::int64_t row = 0; row < 93; ++row) {
    const std::int64_t to = row < 12 ? row : 120 + row - 12;
    for (std::int64_t o = 0; o < apart.out; ++o)
      ASSERT_EQ(y[static_cast<std::size_t>(from[static_cast<std::size_t>(row)] * apart.out + o)],
                z[static_cast<std::size_t>(to * apart.out + o)]);
  }
}

}  // namespace
}  // namespace tessera::test
