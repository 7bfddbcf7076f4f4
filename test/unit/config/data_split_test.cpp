// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/data_split.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(DataSplit, SharesAreOfTheirSum) {
  EXPECT_EQ(parse_split("1"), 0);
  EXPECT_EQ(parse_split("0.5"), 0);
  EXPECT_EQ(parse_split("99, 1"), 0.01);
  EXPECT_EQ(parse_split(" 3 ,1 "), 0.25);
  EXPECT_EQ(parse_split("1, 0"), 0);
}

TEST(DataSplit, NonsenseIsNone) {
  for (const char* text : {"", "0", "0, 1", "-1", "1, -1", "1,", ",1", "1,1,1", "x", "1, x", "nan", "inf"})
    EXPECT_FALSE(parse_split(text)) << text;
}

}  // namespace
}  // namespace tessera
