// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/least_memory.hpp"

#include <gmock/gmock.h>

#include "core/base/error.hpp"
#include "core/config/resolve.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::apps {
namespace {

using testing::HasSubstr;
using testing_support::tiny_dense;
using testing_support::tiny_gpt;

double total(const std::vector<Need>& needs) {
  double sum = 0;
  for (const Need& need : needs) sum += need.bytes;
  return sum;
}

TEST(LeastMemory, ParametersAreCountedWithoutBuildingTheLayers) {
  for (ModelConfig model : {tiny_dense(), tiny_gpt()})
    for (const std::int64_t layers : {1, 2, 3, 7}) {
      model.layers = layers;
      EXPECT_EQ(parameter_count(model), static_cast<double>(model.parameters())) << layers;
    }
  ModelConfig sparse = tiny_dense();
  sparse.experts.count = 4;
  for (const std::int64_t interval : {1, 2, 3})
    for (const std::int64_t layers : {1, 2, 3, 4, 7, 8, 9, 10, 11, 12}) {
      if (interval > layers) continue;
      sparse.experts.interval = interval;
      sparse.layers = layers;
      EXPECT_EQ(parameter_count(sparse), static_cast<double>(sparse.parameters())) << interval << " " << layers;
    }
  sparse.experts.layers = {0, 4, 5, 6, 11};
  EXPECT_EQ(parameter_count(sparse), static_cast<double>(sparse.parameters()));
  ModelConfig deep = tiny_dense();
  deep.layers = 10000;
  EXPECT_GT(parameter_count(deep), 1e4 * 40000);
}

TEST(LeastMemory, ItFallsWithTheRanksThatShareAModel) {
  const ModelConfig model = tiny_dense();
  const auto weights = [&](std::initializer_list<std::pair<std::string_view, std::string_view>> options, int world) {
    return training_needs(model, 8, settings_of(options), world)[0].bytes;
  };
  const double whole = 2 * 4 * parameter_count(model);
  EXPECT_EQ(weights({}, 1), whole);
  EXPECT_EQ(weights({}, 8), whole);
  EXPECT_EQ(weights({{"parallel.tensor", "2"}}, 8), whole / 2);
  EXPECT_EQ(weights({{"parallel.pipeline", "4"}}, 8), whole / 4);
  EXPECT_EQ(weights({{"train.precision", "fp64"}}, 1), 2 * whole);
}

TEST(LeastMemory, TheLargestNeedSaysWhatHelps) {
  const std::vector<Need> needs{{"weights", 1e9, "fewer weights"}, {"tokens", 3e9, "fewer tokens"}};
  check_needs(needs, 4'000'000'000);
  try {
    check_needs(needs, 3'999'999'999);
    FAIL() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resources);
    EXPECT_THAT(error.what(), HasSubstr("weights: "));
    EXPECT_EQ(error.hint(), "fewer tokens");
  }
  EXPECT_THROW(check_needs({{"weights", 1e30, ""}}, std::numeric_limits<std::int64_t>::max()), Error);
}

TEST(LeastMemory, GenerationNeedsWeightsAndKeys) {
  const ModelConfig model = tiny_dense();
  EXPECT_EQ(total(generation_needs(model, 100, 4)), 4 * (parameter_count(model) + 4 * 100 * 2 * 2 * 16.0));
}

TEST(LeastMemory, WhatCannotBeCountedIsRefused) {
  ModelConfig model = tiny_dense();
  check_counts(model, 8, settings_of({{"train.steps", "1000000000"}}));
  model.sequence = 1 << 24;
  EXPECT_THROW(check_counts(model, 1000, settings_of({{"train.steps", "1000000000"}})), Error);
  model.vocab = 1 << 24;
  EXPECT_THROW(check_counts(model, 1, settings_of({{"train.micro_batch", "65536"}, {"train.steps", "1"}})), Error);
}

}  // namespace
}  // namespace tessera::apps
