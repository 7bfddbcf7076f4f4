// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Embed : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, Embed, every_float(), dtype_name);

struct Extents {
  std::int64_t tokens, rows, width, first_row;
};
// The last two are parts of a larger table: ids run over 0 … 49, so some lie outside.
constexpr Extents k_extents[] = {{1, 50, 1, 0}, {0, 50, 4, 0}, {300, 50, 33, 0}, {120, 13, 700, 17}, {9, 0, 8, 50}};

TEST_P(Embed, TakesRowsOfTheLocalPart) {
  for (const auto [tokens, rows, width, first_row] : k_extents) {
    const Values table = random(1, rows * width), ids = random_integers(2, tokens, 0, 50);
    const KernelRun run{
        "embed",
        dtype(),
        {TensorValue(dtype(), {rows, width}, table).starting_at(0, first_row), {DType::i32, {tokens, 1}, ids}},
        {{dtype(), {tokens, 1, width}}}};
    EXPECT_EQ(results_of(run)[0], reference::embed(table, ids, width, first_row)) << tokens << " " << width;
    EXPECT_TRUE(same_for_any_threads(run));
  }
}

TEST_P(Embed, GradientAddsTokensOfEachRow) {
  for (const auto [tokens, rows, width, first_row] : k_extents) {
    const Values dy = random(1, tokens * width), ids = random_integers(2, tokens, 0, 50);
    const Values before = random_values(3, rows * width);
    KernelRun run{"embed_grad",
                  dtype(),
                  {{dtype(), {tokens, 1, width}, dy}, {DType::i32, {tokens, 1}, ids}},
                  {TensorValue(sums(), {rows, width}).starting_at(0, first_row)},
                  Attributes::of(attributes::Extent{50})};
    const Values expected = reference::embed_grad(dy, ids, rows, width, first_row);
    EXPECT_TRUE(close(results_of(run)[0], expected, tolerance_of(sums()))) << tokens << " " << width;
    EXPECT_TRUE(same_for_any_threads(run)) << tokens << " " << width;
    run.out = {TensorValue(sums(), {rows, width}, before).starting_at(0, first_row)};
    run.accumulate = 1;
    EXPECT_TRUE(close(results_of(run)[0], reference::add(expected, before), tolerance_of(sums()))) << tokens;
  }
}

}  // namespace
}  // namespace tessera::test
