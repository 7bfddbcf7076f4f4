// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/nearest.hpp"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Nearest, DistanceCountsEditsAndExchanges) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("layers", "layers"), 0);
  EXPECT_EQ(edit_distance("layers", "Layers"), 0);
  EXPECT_EQ(edit_distance("layers", "lyers"), 1);
  EXPECT_EQ(edit_distance("layers", "laeyrs"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ca", "abc"), 3);
}

TEST(Nearest, NearNamesComeFirstAndFarOnesNotAtAll) {
  const std::vector<std::string> known{"train.steps", "train.seed", "train.trace", "lr.wsd_steps", "model.layers"};
  EXPECT_THAT(nearest("train.step", known), ElementsAre("train.steps"));
  EXPECT_THAT(nearest("steps", known), ElementsAre("train.steps"));
  EXPECT_THAT(nearest("completely.different", known), IsEmpty());
  EXPECT_THAT(nearest("train.threads", known), IsEmpty());
  EXPECT_THAT(nearest("trian.seed", known), ElementsAre("train.seed"));
}

TEST(Nearest, QuestionListsAlternatives) {
  const std::vector<std::string> known{"a.beta1", "a.beta2", "a.gamma"};
  EXPECT_EQ(did_you_mean("a.beta", known), "did you mean a.beta1 or a.beta2?");
  EXPECT_EQ(did_you_mean("zzz", known), "");
}

}  // namespace
}  // namespace tessera
