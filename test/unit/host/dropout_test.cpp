// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Dropout : public EveryFloat {
 protected:
  static constexpr std::uint64_t k_seed = 77, k_site = 123456789;

  KernelRun drop(const Values& x, const Values& index, const Values& sample, std::int64_t width,
                 const reference::DropoutPlace& place) const {
    const auto batch = static_cast<std::int64_t>(sample.size());
    const std::int64_t tokens = static_cast<std::int64_t>(index.size()) / batch;
    return {"dropout",
            dtype(),
            {TensorValue(dtype(), {tokens, batch, width}, x).starting_at(2, place.first),
             {DType::i32, {tokens, batch}, index},
             {DType::i64, {batch}, sample}},
            {{dtype(), {tokens, batch, width}}},
            Attributes::of(attributes::Dropout{place.site, place.probability, place.width}),
            0,
            {.seed = place.seed}};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Dropout, every_float(), dtype_name);

TEST_P(Dropout, KeepsWhatTheCounterSays) {
  for (const double probability : {0.0, 0.1, 0.5, 1.0})
    for (const std::int64_t width : {0, 1, 37, 600}) {
      const std::int64_t tokens = 15, batch = 3;
      const Values x = random(1, tokens * batch * width), index = random_integers(2, tokens * batch, 0, 1000);
      const Values sample = random_integers(3, batch, 0, 1000000);
      const reference::DropoutPlace place{k_seed, k_site, probability, 1300, 55};
      const KernelRun run = drop(x, index, sample, width, place);
      Values expected = reference::dropout(x, index, sample, place);
      if (probability == 1) expected.assign(expected.size(), 0.0);
      EXPECT_TRUE(close(results_of(run)[0], expected, tolerance())) << probability << " " << width;
      EXPECT_TRUE(same_for_any_threads(run)) << probability << " " << width;
    }
}

TEST_P(Dropout, PartsOfTheFeaturesDropWhatTheWholeDrops) {
  const std::int64_t width = 24, half = 12;
  const Values x = random(1, width), index{5}, sample{9};
  const Values whole = results_of(drop(x, index, sample, width, {k_seed, k_site, 0.4, width, 0}))[0];
  for (const std::int64_t first : {std::int64_t{0}, half}) {
    const Values part(x.begin() + first, x.begin() + first + half);
    EXPECT_EQ(results_of(drop(part, index, sample, half, {k_seed, k_site, 0.4, width, first}))[0],
              Values(whole.begin() + first, whole.begin() + first + half));
  }
}

}  // namespace
}  // namespace tessera::test
