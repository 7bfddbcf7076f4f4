// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text : {"", "a\nb", "a\n\nb\n", "\n", "\ttab", "größer als …"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersMoveNothing) {
  EXPECT_EQ(printable("\x1b[31mred\r\x7f"), "\\x1b[31mred\\x0d\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, LongLinesLoseTheirMiddleAndNoCharacterInPart) {
  EXPECT_EQ(printable("12345678\n123456789\n1", 8), "12345678\n123456… (1 bytes) …89\n1");
  EXPECT_EQ(printable("12345ö78ö0", 8), "12345… (6 bytes) …0");
  EXPECT_EQ(printable("\x80\x80\x80", 1), "… (3 bytes) …");
}

}  // namespace
}  // namespace tessera
