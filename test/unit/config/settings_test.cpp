// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/settings.hpp"

#include <gmock/gmock.h>

#include <random>

#include "core/config/core_options.hpp"
#include "core/config/resolve.hpp"
#include "core/config/settings_text.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Settings example() {
  return settings_of({{"model.layers", "3"},
                      {"optimizer.lr", "0.00025"},
                      {"train.stop_after", "1h30m"},
                      {"strategy.bucket_bytes", "64MiB"},
                      {"strategy.extra", "lora, fp8"},
                      {"data.train", "a \"b\" \n c.h5"},
                      {"train.memory_limit", "1GiB"},
                      {"model.tied", "on"}});
}

TEST(Settings, ValuesComeInTheirTypes) {
  const Settings settings = example();
  EXPECT_EQ(settings.get<int>("model.layers"), 3);
  EXPECT_EQ(settings.get<double>("optimizer.lr"), 0.00025);
  EXPECT_EQ(settings.get<double>("train.stop_after"), 5400);
  EXPECT_EQ(settings.get<std::int64_t>("strategy.bucket_bytes"), 64 << 20);
  EXPECT_THAT(settings.get<std::vector<std::string>>("strategy.extra"), ElementsAre("lora", "fp8"));
  EXPECT_TRUE(settings.get<bool>("model.tied"));
  EXPECT_EQ(settings.get<std::string>("optimizer.name"), "adamw");
  EXPECT_TRUE(settings.is_set("model.layers"));
  EXPECT_FALSE(settings.is_set("model.heads"));
}

TEST(Settings, WrongNamesAndTypesAreDefects) {
  const Settings settings = example();
  EXPECT_THROW((void)settings.get<int>("model.layer"), Error);
  EXPECT_THROW((void)settings.get<double>("model.layers"), Error);
  EXPECT_THROW((void)settings_of({{"train.seed", "5000000000"}}).get<int>("train.seed"), Error);
}

TEST(Settings, WhatIsSetAndNeverReadIsNamed) {
  const Settings settings = settings_of({{"model.layers", "3"}, {"optimizer.beta2", "0.9"}, {"train.seed", "1"}});
  (void)settings.get<int>("model.layers");
  settings.mark_used("train.seed");
  const auto problems = settings.unused();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].what, "optimizer.beta2 = 0.9 is not used by this run");
}

TEST(SettingsText, RoundTripThroughBytes) {
  const Settings settings = example();
  const Settings copy = unpack_settings(pack_settings(settings));
  ASSERT_EQ(copy.entries().size(), settings.entries().size());
  for (const auto& [name, entry] : settings.entries()) {
    EXPECT_EQ(copy.entries().at(name).value, entry.value) << name;
    EXPECT_EQ(copy.origin(name), entry.origin) << name;
    EXPECT_EQ(copy.entries().at(name).ranks, entry.ranks) << name;
  }
  EXPECT_EQ(settings_hash(copy), settings_hash(settings));
}

TEST(SettingsText, DamagedBytesAreRefused) {
  const std::vector<std::byte> bytes = pack_settings(example());
  for (std::size_t length = 0; length < bytes.size(); length += 7)
    EXPECT_THROW(unpack_settings(std::span(bytes).first(length)), Error) << length;
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(unpack_settings(longer), Error);
}

TEST(SettingsText, ChangedBytesAreRefusedOrReadWhole) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::vector<std::byte> bytes = pack_settings(example());
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> changed = bytes;
    changed[random() % changed.size()] ^= static_cast<std::byte>(1 + random() % 255);
    try {
      const Settings settings = unpack_settings(changed);
      EXPECT_LE(settings.entries().size(), example().entries().size());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
    }
  }
}

TEST(SettingsText, CanonicalTextHoldsWhatRanksMustAgreeOn) {
  const std::string text = canonical_text(example());
  EXPECT_THAT(text, HasSubstr("model.layers=3\n"));
  EXPECT_THAT(text, HasSubstr("strategy.bucket_bytes=67108864\n"));
  EXPECT_THAT(text, HasSubstr("train.stop_after=5400\n"));
  EXPECT_THAT(text, HasSubstr("data.train=a \"b\" \\n c.h5\n"));
  EXPECT_THAT(text, Not(HasSubstr("memory_limit")));
}

TEST(SettingsText, HashSeesValuesNotTheirSpellingOrOrigin) {
  const auto hash = [](std::string_view key, std::string_view value) {
    return settings_hash(settings_of({{key, value}}));
  };
  EXPECT_EQ(hash("strategy.bucket_bytes", "64MiB"), hash("strategy.bucket_bytes", "65536KiB"));
  EXPECT_EQ(hash("train.seed", "1234"), settings_hash(settings_of()));
  EXPECT_NE(hash("train.seed", "1235"), settings_hash(settings_of()));
  EXPECT_EQ(hash("train.memory_limit", "1GiB"), settings_hash(settings_of()));
}

TEST(SettingsText, JsonHasValuesAndOrigins) {
  const std::string json = to_json(example());
  EXPECT_THAT(json, HasSubstr(R"("model.layers": {
    "value": 3,
    "from": "flag",
    "where": "model.layers = 3"
  })"));
  EXPECT_THAT(json, HasSubstr(R"("model.heads": {
    "value": 12,
    "from": "default"
  })"));
}

}  // namespace
}  // namespace tessera
