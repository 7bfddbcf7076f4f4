// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/sampler.hpp"

#include <algorithm>
#include <numeric>

#include "error_matchers.hpp"
#include "io/dataset/permutation.hpp"

namespace tessera::io {
namespace {

std::vector<std::int64_t> consumed_by(const Sampler& sampler, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> samples;
  for (std::int64_t g = first; g < first + count; ++g) samples.push_back(sampler.sample(g));
  return samples;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(PermutationTest, IsABijectionForEverySize) {
  for (std::int64_t n = 1; n <= 300; ++n) {
    std::vector<std::int64_t> images;
    const Permutation permutation(n, 7, 1, static_cast<std::uint64_t>(n));
    for (std::int64_t i = 0; i < n; ++i) images.push_back(permutation(i));
    ASSERT_EQ(sorted(images), numbers(0, n)) << n;
  }
}

TEST(PermutationTest, EveryPlaceIsAboutEquallyLikely) {
  constexpr std::int64_t n = 13;
  constexpr std::int64_t trials = 26000;
  std::array<std::array<std::int64_t, n>, n> counts{};
  for (std::int64_t trial = 0; trial < trials; ++trial) {
    const Permutation permutation(n, 1, 2, static_cast<std::uint64_t>(trial));
    for (std::int64_t i = 0; i < n; ++i)
      ++counts[static_cast<std::size_t>(i)][static_cast<std::size_t>(permutation(i))];
  }
  constexpr double expected = static_cast<double>(trials) / n;
  double chi_squared = 0;
  for (const auto& row : counts)
    for (std::int64_t count : row) chi_squared += std::pow(static_cast<double>(count) - expected, 2) / expected;
  EXPECT_LT(chi_squared, 144 + 5 * std::sqrt(2.0 * 144)) << "12 x 12 degrees of freedom";
}

TEST(PermutationTest, HugeSizesStayInside) {
  constexpr std::int64_t n = (std::int64_t{1} << 45) + 12345;
  const Permutation permutation(n, 3, 4, 5);
  std::vector<std::int64_t> images;
  for (std::int64_t i = 0; i < 1000; ++i) images.push_back(permutation(n - 1 - i));
  images = sorted(images);
  EXPECT_GE(images.front(), 0);
  EXPECT_LT(images.back(), n);
  EXPECT_EQ(std::adjacent_find(images.begin(), images.end()), images.end());
  EXPECT_GT(images.back(), n / 2);
  EXPECT_LT(images.front(), n / 2);
}

// These values are a promise: a run that is resumed with a newer program must see the same samples.
TEST(SamplerTest, OrderNeverChangesBetweenVersions) {
  const Sampler sampler({0, 10}, 1234, SampleOrder::shuffled);
  EXPECT_EQ(consumed_by(sampler, 0, 10), (std::vector<std::int64_t>{8, 7, 9, 6, 2, 5, 1, 4, 3, 0}));
  EXPECT_EQ(consumed_by(sampler, 10, 10), (std::vector<std::int64_t>{0, 3, 6, 1, 9, 8, 4, 7, 2, 5}));
  const Sampler large({1000, 1'000'000'007}, 42, SampleOrder::shuffled);
  EXPECT_EQ(consumed_by(large, 3'000'000'000, 4),
            (std::vector<std::int64_t>{333118983, 875585287, 789324661, 711965302}));
}

// Acceptance case B03: 64 samples, three epochs; each holds each sample once, in orders that differ.
TEST(SamplerTest, EachEpochHoldsEachSampleOnce) {
  const Sampler sampler({5, 64}, 99, SampleOrder::shuffled);
  std::vector<std::vector<std::int64_t>> epochs;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    epochs.push_back(consumed_by(sampler, epoch * 64, 64));
    EXPECT_EQ(sorted(epochs.back()), numbers(5, 64));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  EXPECT_NE(epochs[0], consumed_by(Sampler({5, 64}, 100, SampleOrder::shuffled), 0, 64));
}

// Acceptance case B41: 13 samples in batches of 4; the data wraps, no sample is dropped, position = consumed samples.
TEST(SamplerTest, DataWrapsInsideABatch) {
  const Sampler sampler({0, 13}, 7, SampleOrder::shuffled);
  const std::vector<std::int64_t> straight = consumed_by(sampler, 0, 28);
  std::vector<std::int64_t> resumed;
  for (std::int64_t step = 0; step < 7; ++step)
    for (std::int64_t sample : consumed_by(Sampler({0, 13}, 7, SampleOrder::shuffled), step * 4, 4))
      resumed.push_back(sample);
  EXPECT_EQ(resumed, straight);
  EXPECT_EQ(sorted({straight.begin(), straight.begin() + 13}), numbers(0, 13));
  EXPECT_EQ(sorted({straight.begin() + 13, straight.begin() + 26}), numbers(0, 13));
}

TEST(SamplerTest, SequentialIsTheIdentity) {
  EXPECT_EQ(consumed_by(Sampler({2, 3}, 7, SampleOrder::sequential), 0, 7),
            (std::vector<std::int64_t>{2, 3, 4, 2, 3, 4, 2}));
}

TEST(SamplerTest, CountsOfSamples) {
  EXPECT_EQ(samples_in(16, 4), 3);
  EXPECT_EQ(samples_in(17, 4), 4);
  EXPECT_EQ(samples_in(5, 4), 1);
  EXPECT_EQ(samples_in(4, 4), 0);
  EXPECT_EQ(samples_in(0, 4), 0);
  EXPECT_EQ(samples_in((std::int64_t{1} << 40) + 1, 4096), std::int64_t{1} << 28);
  expect_error(ErrorKind::data, "too short", [] { Sampler({0, 0}, 1, SampleOrder::shuffled); });
}

TEST(SamplerTest, ValidationIsTheTail) {
  const auto valid_of = [](std::int64_t samples, double fraction) {
    const Split split = split_samples(samples, fraction);
    EXPECT_EQ(split.train.first, 0);
    EXPECT_EQ(split.train.count, split.valid.first);
    EXPECT_EQ(split.valid.first + split.valid.count, samples);
    return split.valid.count;
  };
  EXPECT_EQ(valid_of(100, 0), 0);
  EXPECT_EQ(valid_of(100, 0.29), 29);
  EXPECT_EQ(valid_of(99, 0.01), 0);
  EXPECT_EQ(valid_of(199, 0.01), 1);
  EXPECT_EQ(valid_of(3, 0.99), 2);
  expect_error(ErrorKind::configuration, "data.split", [] { split_samples(10, 1.0); });
  expect_error(ErrorKind::configuration, "data.split", [] { split_samples(10, -0.1); });
  expect_error(ErrorKind::data, "of 0 samples", [] { split_samples(0, 0.5); });
}

TEST(SamplerTest, DigestKnowsOrderAndContent) {
  const Sampler sampler({0, 2}, 1, SampleOrder::sequential);  // 0 1 0 1 ...
  EXPECT_EQ(sampler.digest(0, 2), sampler.digest(2, 2));
  EXPECT_NE(sampler.digest(0, 2), sampler.digest(1, 2));
  EXPECT_NE(sampler.digest(0, 2), sampler.digest(0, 3));
  EXPECT_NE(sampler.digest(0, 2), Sampler({1, 2}, 1, SampleOrder::sequential).digest(0, 2));
}

}  // namespace
}  // namespace tessera::io
