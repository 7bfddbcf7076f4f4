// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Jitter : public EveryFloat {
 protected:
  static constexpr std::uint64_t k_seed = 77, k_site = 123456789;

  KernelRun jitter(const Values& x, const Values& index, const Values& sample, std::int64_t width,
                   const reference::DropoutPlace& place) const {
    const auto batch = static_cast<std::int64_t>(sample.size());
    const std::int64_t tokens = static_cast<std::int64_t>(index.size()) / batch;
    return {"jitter",
            dtype(),
            {TensorValue(dtype(), {tokens, batch, width}, x).starting_at(2, place.first),
             {DType::i32, {tokens, batch}, index},
             {DType::i64, {batch}, sample}},
            {{dtype(), {tokens, batch, width}}},
            Attributes::of(attributes::Jitter{place.site, place.probability, place.width}),
            0,
            {.seed = place.seed}};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Jitter, every_float(), dtype_name);

TEST_P(Jitter, MultipliesByWhatTheCounterSays) {
  for (const double spread : {0.0, 0.01, 0.5})
    for (const std::int64_t width : {0, 1, 37, 600}) {
      const std::int64_t tokens = 15, batch = 3;
      const Values x = random(1, tokens * batch * width), index = random_integers(2, tokens * batch, 0, 1000);
      const Values sample = random_integers(3, batch, 0, 1000000);
      const reference::DropoutPlace place{k_seed, k_site, spread, 1300, 55};
      const KernelRun run = jitter(x, index, sample, width, place);
      EXPECT_TRUE(close(results_of(run)[0], reference::jitter(x, index, sample, place), tolerance())) << spread;
      EXPECT_TRUE(same_for_any_threads(run)) << spread << " " << width;
    }
}

TEST_P(Jitter, PartsOfTheFeaturesGetWhatTheWholeGets) {
  const std::int64_t width = 24, half = 12;
  const Values x = random(1, width), index{5}, sample{9};
  const Values whole = results_of(jitter(x, index, sample, width, {k_seed, k_site, 0.4, width, 0}))[0];
  for (const std::int64_t first : {std::int64_t{0}, half}) {
    const Values part(x.begin() + first, x.begin() + first + half);
    EXPECT_EQ(results_of(jitter(part, index, sample, half, {k_seed, k_site, 0.4, width, first}))[0],
              Values(whole.begin() + first, whole.begin() + first + half));
  }
}

/// Uniform in [1 - spread, 1 + spread): mean 1, variance spread² ÷ 3.
TEST(JitterNumbers, AreUniformAroundOne) {
  const double spread = 0.3;
  const std::int64_t n = 100000;
  const reference::DropoutPlace place{1, 2, spread, n};
  const Values ones(static_cast<std::size_t>(n), 1), index{0}, sample{4};
  const KernelRun run{"jitter",
                      DType::f64,
                      {{DType::f64, {1, 1, n}, ones}, {DType::i32, {1, 1}, index}, {DType::i64, {1}, sample}},
                      {{DType::f64, {1, 1, n}}},
                      Attributes::of(attributes::Jitter{place.site, spread, n}),
                      0,
                      {.seed = place.seed}};
  double sum = 0, squares = 0;
  const Values factors = results_of(run)[0];
  for (const double factor : factors) {
    EXPECT_TRUE(factor >= 1 - spread && factor < 1 + spread) << factor;
    sum += factor - 1;
    squares += (factor - 1) * (factor - 1);
  }
  const double deviation = spread / std::sqrt(3.0 * static_cast<double>(n));
  EXPECT_LT(std::abs(sum / static_cast<double>(n)), 5 * deviation);
  EXPECT_NEAR(squares / static_cast<double>(n), spread * spread / 3, 0.01 * spread * spread);
}

}  // namespace
}  // namespace tessera::test
