// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/value.hpp"

#include <gmock/gmock.h>

#include <clocale>

namespace tessera {
namespace {

TEST(OptionValue, IntegersAreWholeAndDecimal) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* bad : {"", "+", "1.0", "12x", " 1", "9223372036854775808", "0x10", "1e3"})
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
}

TEST(OptionValue, RealsAreFiniteAndKnowNoLocale) {
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse_real("0.5"), 0.5);
  EXPECT_EQ(parse_real("3e-4"), 3e-4);
  EXPECT_EQ(to_text(OptionValue(0.25)), "0.25");
  for (const char* bad : {"", "0,5", "inf", "nan", "1e999", "1.5 "}) EXPECT_EQ(parse_real(bad), std::nullopt) << bad;
  std::setlocale(LC_ALL, "C");
}

TEST(OptionValue, SizesHaveBinaryUnits) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("512B"), 512);
  EXPECT_EQ(parse_bytes("64KiB"), 64 << 10);
  EXPECT_EQ(parse_bytes("64 MiB"), 64 << 20);
  EXPECT_EQ(parse_bytes("1.5GiB"), 3LL << 29);
  EXPECT_EQ(parse_bytes("2TiB"), 2LL << 40);
  for (const char* bad : {"", "MiB", "64MB", "64mib", "-1", "1.5", "9999999TiB", "1.5.2GiB"})
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
}

TEST(OptionValue, DurationsAreSeconds) {
  EXPECT_EQ(parse_duration("90"), 90);
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  EXPECT_EQ(parse_duration("1h30m5s"), 5405);
  for (const char* bad : {"", "s", "5d", "30m1h", "1h1h", "1h30", "-5s"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
}

TEST(OptionValue, BooleansAreWords) {
  for (const char* yes : {"on", "ON", "true", "yes", "1"}) EXPECT_EQ(parse_boolean(yes), true) << yes;
  for (const char* no : {"off", "False", "no", "0"}) EXPECT_EQ(parse_boolean(no), false) << no;
  EXPECT_EQ(parse_boolean("maybe"), std::nullopt);
  EXPECT_EQ(parse_boolean(""), std::nullopt);
}

TEST(OptionValue, ListsAreSplitAtCommas) {
  const Option option{.name = "a.b", .type = OptionType::list};
  EXPECT_EQ(*parse_value(option, " x , y z ").value, OptionValue(std::vector<std::string>{"x", "y z"}));
  EXPECT_EQ(*parse_value(option, "").value, OptionValue(std::vector<std::string>{}));
  EXPECT_FALSE(parse_value(option, "x,,y").value);
}

TEST(OptionValue, TextOfEveryValueParsesToTheSameValue) {
  const std::vector<std::pair<OptionType, OptionValue>> values{{OptionType::boolean, true},
                                                               {OptionType::integer, std::int64_t{-3}},
                                                               {OptionType::real, 1e-5},
                                                               {OptionType::real, 0.1 + 0.2},
                                                               {OptionType::bytes, std::int64_t{1} << 40},
                                                               {OptionType::duration, 0.25},
                                                               {OptionType::text, std::string("a b")},
                                                               {OptionType::list, std::vector<std::string>{"a", "b"}}};
  for (const auto& [type, value] : values) {
    const Option option{.name = "a.b", .type = type};
    EXPECT_EQ(*parse_value(option, to_text(value)).value, value) << to_text(value);
  }
}

TEST(OptionValue, ProblemsNameTheRuleAndTheValue) {
  Option option{.name = "a.b", .type = OptionType::integer, .min = 1};
  EXPECT_EQ(parse_value(option, "0").problem, "must be at least 1, not '0'");
  EXPECT_EQ(parse_value(option, "ten").problem, "must be an integer, not 'ten'");
  EXPECT_EQ(parse_value(option, "9223372036854775808").problem,
            "must be an integer of 64 bits, not '9223372036854775808'");
  option.max = 8;
  EXPECT_EQ(parse_value(option, "9223372036854775808").problem, "must be from 1 to 8, not '9223372036854775808'");
  EXPECT_EQ(parse_value(option, "9").problem, "must be from 1 to 8, not '9'");
  option.type = OptionType::choice;
  option.choices = {"x", "y"};
  EXPECT_EQ(parse_value(option, "z").problem, "must be one of x, y, not 'z'");
  option.type = OptionType::bytes;
  EXPECT_EQ(parse_value(option, "64MB").hint, "Sizes are written as 4096, 512KiB, 64MiB, 1.5GiB.");
}

}  // namespace
}  // namespace tessera
