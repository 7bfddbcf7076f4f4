// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/normal_numbers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tessera::host {
namespace {

constexpr std::int64_t k_first = 12345, k_count = 200000;
const CounterRng k_random(7, hash_name("init/test"), 3);

template <class T>
std::vector<T> numbers(std::int64_t first, std::int64_t count, double deviation = 1, int threads = 1) {
  std::vector<T> values(static_cast<std::size_t>(count));
  fill_normal(k_random, first, count, deviation, values.data(), threads);
  return values;
}

TEST(NormalNumbers, AreBoxMullersOfTheStream) {
  const std::vector<double> values = numbers<double>(k_first, k_count);
  double error = 0;
  for (std::int64_t i = 0; i < k_count; ++i) {
    const auto n = 2 * static_cast<std::uint64_t>(k_first + i);
    const double radius = std::sqrt(-2 * std::log(1 - k_random.uniform(n)));
    const double expected = radius * std::cos(6.283185307179586 * k_random.uniform(n + 1));
    error = std::max(error, std::fabs(values[static_cast<std::size_t>(i)] - expected));
  }
  EXPECT_LT(error, 1e-14);
}

TEST(NormalNumbers, HaveTheMomentsOfTheirDistribution) {
  double sums[4] = {};
  for (const double x : numbers<double>(0, k_count, 2.0))
    for (int power = 0; power < 4; ++power) sums[power] += std::pow(x / 2.0, power + 1) / k_count;
  const double error = 5 / std::sqrt(static_cast<double>(k_count));  // five deviations of the mean, more of the others
  EXPECT_NEAR(sums[0], 0, error);
  EXPECT_NEAR(sums[1], 1, 2 * error);
  EXPECT_NEAR(sums[2], 0, 4 * error);
  EXPECT_NEAR(sums[3], 3, 10 * error);
}

TEST(NormalNumbers, DependOnTheirPlaceAlone) {
  const std::vector<float> whole = numbers<float>(k_first, k_count, 0.02);
  EXPECT_EQ(numbers<float>(k_first, k_count, 0.02, 3), whole);
  for (const auto& [from, count] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {5, 13}, {77777, 1001}})
    EXPECT_EQ(numbers<float>(k_first + from, count, 0.02),
              std::vector<float>(whole.begin() + from, whole.begin() + from + count));
  const std::vector<double> exact = numbers<double>(k_first, k_count, 0.02);
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(whole[i], static_cast<float>(exact[i])) << i;
}

}  // namespace
}  // namespace tessera::host
