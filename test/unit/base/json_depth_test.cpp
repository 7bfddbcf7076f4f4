// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_depth.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

TEST(JsonDepth, CountsBracketsInEachOther) {
  EXPECT_EQ(json_depth(""), 0);
  EXPECT_EQ(json_depth("3"), 0);
  EXPECT_EQ(json_depth(R"({"a": [1, {}], "b": []})"), 3);
  EXPECT_EQ(json_depth(std::string(1000, '[')), 1000);
}

TEST(JsonDepth, TextHasNoBrackets) {
  EXPECT_EQ(json_depth(R"({"[[[": "\"[[{", "\\": [0]})"), 2);
  EXPECT_EQ(json_depth(R"("[[[)"), 0);
  EXPECT_EQ(json_depth("\"\\"), 0);
}

}  // namespace
}  // namespace tessera
