// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/copy.hpp"

#include <numeric>

#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

using host::BoxPlace;

/// Row-major index of a point.
std::size_t index_of(const Shape& array, const std::array<std::int64_t, 5>& point) {
  std::int64_t index = 0;
  for (int dim = 0; dim < array.rank(); ++dim) index = index * array[dim] + point[static_cast<std::size_t>(dim)];
  return static_cast<std::size_t>(index);
}

/// copy_box of numbers 0, 1, … against a walk over all points of the box.
template <class Element>
void check_box(const BoxPlace& from, const BoxPlace& to, const Shape& extent, int threads) {
  std::vector<Element> source(static_cast<std::size_t>(from.array.count()));
  std::iota(source.begin(), source.end(), Element(1));
  std::vector<Element> target(static_cast<std::size_t>(to.array.count()), Element(0)), expected = target;
  for (std::int64_t i = 0; i < extent.count(); ++i) {
    std::array<std::int64_t, 5> a{}, b{};
    std::int64_t rest = i;
    for (int dim = extent.rank() - 1; dim >= 0; --dim) {
      const auto d = static_cast<std::size_t>(dim);
      a[d] = from.start[d] + rest % extent[dim];
      b[d] = to.start[d] + rest % extent[dim];
      rest /= extent[dim];
    }
    expected[index_of(to.array, b)] = source[index_of(from.array, a)];
  }
  host::copy_box(source.data(), from, target.data(), to, extent, sizeof(Element), threads);
  EXPECT_EQ(target, expected) << to_string(from.array) << " to " << to_string(to.array);
}

TEST(CopyBox, MovesExactlyTheBox) {
  for (const int threads : {1, 3}) {
    check_box<std::int32_t>({{7}, {2}}, {{5}, {1}}, {4}, threads);
    check_box<std::uint8_t>({{6, 5}, {1, 2}}, {{4, 9}, {0, 3}}, {3, 3}, threads);
    check_box<std::uint16_t>({{3, 4, 5}, {1, 0, 0}}, {{9, 4, 5}, {6, 0, 0}}, {2, 4, 5}, threads);
    check_box<double>({{3, 2, 4, 2, 3}, {1, 0, 2, 0, 1}}, {{2, 3, 2, 2, 2}, {0, 1, 0, 0, 0}}, {2, 2, 2, 2, 2}, threads);
    check_box<double>({{3, 2}, {0, 0}}, {{3, 2}, {0, 0}}, {0, 2}, threads);
    check_box<float>({{}, {}}, {{}, {}}, {}, threads);
    check_box<float>({{400, 300}, {100, 1}}, {{200, 299}, {0, 0}}, {200, 299}, threads);
  }
}

class Copy : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, Copy, every_float(), dtype_name);

TEST_P(Copy, ConvertsToEveryDtypeAsAKernelDoes) {
  for (const DType to : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const Values x = random(1, 1500);
    const KernelRun run{"cast", dtype(), {{dtype(), {1500}, x}}, {{to, {1500}}}, Attributes::of(attributes::Cast{to})};
    EXPECT_EQ(results_of(run)[0], rounded(to, x)) << name_of(to);
    EXPECT_TRUE(same_for_any_threads(run));
  }
}

TEST_P(Copy, AccumulatesIntoTheAccumulationType) {
  const Values x = random(1, 1500), before = rounded(sums(), random_values(2, 1500));
  KernelRun run{"accumulate", dtype(), {{dtype(), {1500}, x}}, {{sums(), {1500}, before}}};
  EXPECT_EQ(results_of(run)[0], x);
  run.accumulate = 1;
  EXPECT_EQ(results_of(run)[0], rounded(sums(), reference::add(before, x)));
}

TEST_P(Copy, FillsAndScales) {
  TensorValue value(dtype(), {1111});
  host::fill(dtype(), value.tensor().data, 1.5, 1111, 2);
  EXPECT_EQ(value.values(), Values(1111, 1.5));
  host::scale(dtype(), value.tensor().data, -0.5, 1111, 2);
  EXPECT_EQ(value.values(), Values(1111, -0.75));
}

TEST_P(Copy, ViewsCopyWhereMemoryDiffers) {
  const Values x = random(1, 6 * 2 * 12);
  const Attributes heads = Attributes::of(attributes::Heads{4});
  EXPECT_EQ(results_of({"split_heads", dtype(), {{dtype(), {6, 2, 12}, x}}, {{dtype(), {6, 2, 3, 4}}}, heads})[0], x);
  EXPECT_EQ(results_of({"merge_heads", dtype(), {{dtype(), {6, 2, 3, 4}, x}}, {{dtype(), {6, 2, 12}}}, heads})[0], x);
  const Attributes pieces = Attributes::of(attributes::Pieces{2});
  const auto halves =
      results_of({"split_tokens", dtype(), {{dtype(), {6, 24}, x}}, {{dtype(), {3, 24}}, {dtype(), {3, 24}}}, pieces});
  EXPECT_EQ(halves[0], Values(x.begin(), x.begin() + 72));
  EXPECT_EQ(halves[1], Values(x.begin() + 72, x.end()));
  const KernelRun joined{"concat_tokens",
                         dtype(),
                         {{dtype(), {3, 24}, halves[0]}, {dtype(), {3, 24}, halves[1]}},
                         {{dtype(), {6, 24}}},
                         pieces};
  EXPECT_EQ(results_of(joined)[0], x);
}

TEST(CopyTokens, PiecesOfIntegers) {
  const Attributes pieces = Attributes::of(attributes::Pieces{2});
  const auto halves = results_of({"split_tokens",
                                  DType::i64,
                                  {{DType::i32, {4, 1}, {1, 2, 3, 4}}},
                                  {{DType::i32, {2, 1}}, {DType::i32, {2, 1}}},
                                  pieces});
  EXPECT_EQ(halves[0], (Values{1, 2}));
  EXPECT_EQ(halves[1], (Values{3, 4}));
}

}  // namespace
}  // namespace tessera::test
