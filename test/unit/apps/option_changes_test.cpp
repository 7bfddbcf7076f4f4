// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/option_changes.hpp"

#include <gmock/gmock.h>

namespace tessera::apps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* k_saved = R"({"lr.min": {"value": 0.001, "from": "default"},
  "data.train": {"value": "a.h5", "from": "file"}, "model.tied": {"value": false, "from": "file"},
  "log.dir": {"value": "run", "from": "file"}, "old.one": {"value": 1, "from": "file"}})";

TEST(OptionChanges, NameWhatBothHaveAndWhatDiffers) {
  EXPECT_THAT(option_changes(k_saved, k_saved), IsEmpty());
  EXPECT_THAT(
      option_changes(k_saved, R"({"lr.min": {"value": 0.002}, "data.train": {"value": ""},
    "model.tied": {"value": true}, "log.dir": {"value": "elsewhere"}, "new.one": {"value": 2}})"),
      ElementsAre("data.train = '' (a.h5 before)", "lr.min = 0.002 (0.001 before)", "model.tied = on (off before)"));
}

TEST(OptionChanges, WhatIsNoListOfOptionsHasNone) {
  for (const char* text : {"", "[]", "{}", R"({"lr.min": 3})", "{\"lr.min\": {}}"})
    EXPECT_THAT(option_changes(text, k_saved), IsEmpty()) << text;
}

}  // namespace
}  // namespace tessera::apps
