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

/// Few rows or many, in one part or several: the bits are those of a linear layer on the same rows.
TEST_P(GroupedLinear, AnExpertIsALinearLayer) {
  constexpr std::int64_t k_in = 530, k_out = 70, k_parts = 3, k_capacity = 40;
  const auto expect_linear = [&](std::int64_t in, std::int64_t out, const char* grouped, const char* linear,
                                 const Values& counts) {
    const GroupedExtents e{1, k_parts, k_capacity, k_in, k_out};
    const Values x = rows(8, e, in, counts), w = random(9, k_in * k_out);
    Values joined;
    for (const double value : x)
      if (!std::isnan(value)) joined.push_back(value);
    const std::int64_t live = static_cast<std::int64_t>(joined.size()) / in;
    const Values y =
        results_of({grouped, dtype(), {tensor(e, in, x), weights(e, w), tensor(e, counts)}, {result(e, out)}})[0];
    const Values expected = results_of({linear,
                                        dtype(),
                                        {{dtype(), {live, 1, in}, joined}, {dtype(), {k_out, k_in}, w}},
                                        {{dtype(), {live, 1, out}}}})[0];
    Values found;
    for (std::int64_t row = 0; row < e.rows(); ++row)
      if (row % k_capacity < static_cast<std::int64_t>(counts[static_cast<std::size_t>(row / k_capacity)]))
        found.insert(found.end(), y.begin() + row * out, y.begin() + (row + 1) * out);
    EXPECT_EQ(found, expected) << grouped << " of " << live;
  };
  for (const Values& counts : {Values{1, 0, 0}, Values{0, 12, 0}, Values{3, 0, 20}, Values{40, 24, 0},
                               Values{40, 25, 0}, Values{40, 40, 40}}) {
    expect_linear(k_in, k_out, "grouped_linear", "linear", counts);
    expect_linear(k_out, k_in, "grouped_linear_dx", "linear_dx", counts);
  }
}

}  // namespace
}  // namespace tessera::test
