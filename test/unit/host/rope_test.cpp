// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Rope : public EveryFloat {
 protected:
  KernelRun rotation(const Values& x, const Values& position, std::int64_t heads, std::int64_t head_dim, double theta,
                     double sign) const {
    const auto tokens = static_cast<std::int64_t>(position.size());
    const Shape shape{tokens, 1, heads, head_dim};
    return {"rope",
            dtype(),
            {{dtype(), shape, x}, {DType::i32, {tokens, 1}, position}},
            {{dtype(), shape}},
            Attributes::of(attributes::Rope{theta, sign})};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Rope, every_float(), dtype_name);

struct Extents {
  std::int64_t tokens, heads, head_dim;
};

TEST_P(Rope, RotatesPairsOfHalves) {
  for (const auto [tokens, heads, head_dim] :
       {Extents{1, 1, 2}, {7, 3, 6}, {0, 2, 8}, {4, 0, 8}, {65, 5, 64}, {3, 2, 130}})
    for (const double sign : {1.0, -1.0}) {
      const Values x = random(1, tokens * heads * head_dim), position = random_integers(2, tokens, 0, 2000);
      const KernelRun run = rotation(x, position, heads, head_dim, 1e4, sign);
      const Values expected = reference::rope(x, position, heads, head_dim, 1e4, sign);
      EXPECT_TRUE(close(results_of(run)[0], expected, tolerance())) << tokens << " " << heads << " " << head_dim;
      EXPECT_TRUE(same_for_any_threads(run)) << tokens << " " << heads << " " << head_dim;
    }
}

TEST_P(Rope, FarPositionsKeepTheirAngle) {
  const Values position = random_integers(2, 50, 100000, 1000000), x = random(1, 50 * 16);
  const KernelRun run = rotation(x, position, 1, 16, 5e5, 1);
  // The angle itself, as large as 1e6, has a last digit of 1e-10.
  EXPECT_TRUE(close(results_of(run)[0], reference::rope(x, position, 1, 16, 5e5, 1), std::max(tolerance(), 1e-9)));
}

TEST_P(Rope, OppositeSignIsTheInverse) {
  const Values x = random(1, 12 * 64), position = random_integers(2, 12, 0, 5000);
  const Values there = results_of(rotation(x, position, 1, 64, 1e4, 1))[0];
  const Values back = results_of(rotation(there, position, 1, 64, 1e4, -1))[0];
  EXPECT_TRUE(close(back, x, 2 * tolerance()));
}

}  // namespace
}  // namespace tessera::test
