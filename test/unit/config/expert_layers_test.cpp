// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/expert_layers.hpp"

#include <gmock/gmock.h>

#include <random>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<int> layers_of(const char* text, std::int64_t layers) {
  const ExpertLayers parsed = parse_expert_layers(text, layers);
  EXPECT_EQ(parsed.problem, "") << text;
  return parsed.layers;
}

TEST(ExpertLayers, LayersAndRanges) {
  EXPECT_THAT(layers_of("1, 3,5-7", 8), ElementsAre(1, 3, 5, 6, 7));
  EXPECT_THAT(layers_of("0", 1), ElementsAre(0));
  EXPECT_THAT(layers_of("2 - 3", 4), ElementsAre(2, 3));
  EXPECT_THAT(layers_of("", 4), IsEmpty());
}

TEST(ExpertLayers, PatternsOfMegatron) {
  EXPECT_THAT(layers_of("pattern 1", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(layers_of("pattern 2", 5), ElementsAre(0, 2, 4));
  EXPECT_THAT(layers_of("pattern ([0]*3+[1]*2)", 5), ElementsAre(3, 4));
  EXPECT_THAT(layers_of("pattern [0, 1]*2 + [1]", 5), ElementsAre(1, 3, 4));
  EXPECT_THAT(layers_of("pattern ([0,1,1])*2", 6), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(layers_of("pattern [0,1,0]", 3), ElementsAre(1));
}

TEST(ExpertLayers, WhatIsWrongIsSaid) {
  const std::pair<std::string, const char*> faults[] = {
      {"1, 4", "'4' is not among the layers 0 to 3"},
      {"-1", "'-1' is not among"},
      {"2-5", "'2-5' is not among"},
      {"2, 1", "'1' comes after layer 2"},
      {"1, 1", "'1' comes after layer 1"},
      {"0-2, 2", "'2' comes after layer 2"},
      {"3-1", "neither a layer nor a range"},
      {"two", "'two' is neither"},
      {"1-", "neither"},
      {"99999999999999999999", "neither"},
      {"0-9223372036854775807", "is not among"},
      {"pattern", "is not a pattern of 4 layers"},
      {"pattern 0", "'0' is not an interval"},
      {"pattern [1]*3", "is not a pattern of 4 layers"},
      {"pattern " + std::string(100000, '('), "is not a pattern of 4 layers"},
      {"pattern [1]*5", "is not a pattern"},
      {"pattern [0]*4", "has no layer with experts"},
      {"pattern ([1]*4", "is not a pattern"},
      {"pattern [1]*4)", "is not a pattern"},
      {"pattern [2]*4", "is not a pattern"},
      {"pattern [1]*9223372036854775807", "is not a pattern"},
      {"pattern []*4", "is not a pattern"},
  };
  for (const auto& [text, problem] : faults) {
    const ExpertLayers parsed = parse_expert_layers(text, 4);
    EXPECT_THAT(parsed.problem, HasSubstr(problem)) << text;
  }
}

TEST(ExpertLayers, TheTextIsReadBack) {
  EXPECT_EQ(expert_layers_text(std::vector{1, 3, 5, 6, 7}), "1, 3, 5-7");
  EXPECT_EQ(expert_layers_text(std::vector<int>{}), "");
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 1000; ++i) {
    std::vector<int> layers;
    for (int layer = 0; layer < 40; ++layer)
      if (random() % 3 != 0) layers.push_back(layer);
    EXPECT_EQ(layers_of(expert_layers_text(layers).c_str(), 40), layers);
  }
}

}  // namespace
}  // namespace tessera
