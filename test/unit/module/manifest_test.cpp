// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/manifest.hpp"

#include <gmock/gmock.h>

#include <random>

#include "core/base/error.hpp"
#include "test/unit/module/fixture.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(ManifestTest, SaysWhatTheBuildWrote) {
  const Manifest manifest = read_manifest(TESSERA_TEST_MODULES "/test_good.json");
  EXPECT_EQ(manifest.full_name(), "test/good");
  EXPECT_EQ(manifest.version, "1.2.3");
  EXPECT_EQ(manifest.summary, "says hello; once, 'twice'");
  EXPECT_EQ(manifest.abi_major, TESSERA_ABI_MAJOR);
  EXPECT_EQ(manifest.abi_minor, TESSERA_ABI_MINOR);
  EXPECT_EQ(manifest.build_tag, engine_build_tag());
  EXPECT_EQ(manifest.library, TESSERA_TEST_MODULES "/test_good.so");
  ASSERT_EQ(manifest.options.size(), 1U);
  EXPECT_EQ(manifest.options[0].name, "good.word");
  EXPECT_EQ(manifest.options[0].text, "What it says; \"quoted\" too.");
  EXPECT_EQ(manifest.options[0].owner, "test/good");
}

TEST(ManifestTest, FaultsOfBuilds) {
  EXPECT_EQ(build_fault(TESSERA_ABI_MAJOR, TESSERA_ABI_MINOR, engine_build_tag()), "");
  EXPECT_THAT(build_fault(TESSERA_ABI_MAJOR, TESSERA_ABI_MINOR + 1, engine_build_tag()), HasSubstr("module ABI 1.1"));
  EXPECT_THAT(build_fault(0, 0, engine_build_tag()), HasSubstr("module ABI 0.0"));
  EXPECT_THAT(build_fault(TESSERA_ABI_MAJOR, 0, "x"), HasSubstr("its tag is 'x', this engine's 'tessera abi 1.0, "));
}

TEST(ManifestTest, EveryFieldIsNeeded) {
  const std::string whole = text_of(TESSERA_TEST_MODULES "/test_good.json");
  for (const char* field :
       {"kind", "name", "version", "summary", "abi_major", "abi_minor", "build_tag", "library", "options"}) {
    std::string text = whole;
    const std::size_t place = text.find("\"" + std::string(field) + "\"");
    ASSERT_NE(place, std::string::npos) << field;
    text[place + 1] = 'X';
    try {
      parse_manifest(text, "/x/y.json");
      FAIL() << field;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("/x/y.json: ")) << field;
      EXPECT_THAT(error.what(), HasSubstr(field));
    }
  }
}

TEST(ManifestTest, ChangedTextIsRefusedOrReadWhole) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string whole = text_of(TESSERA_TEST_MODULES "/test_good.json");
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    text[random() % text.size()] = static_cast<char>(random());
    if (round % 2 == 1) text.resize(random() % text.size());
    try {
      EXPECT_FALSE(parse_manifest(text, "/x/y.json").library.empty());
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("/x/y.json: "));
    }
  }
}

TEST(ManifestTest, OddNumbersAndDeepBracketsAreRefused) {
  std::string text = text_of(TESSERA_TEST_MODULES "/test_good.json");
  const std::size_t place = text.find(':', text.find("\"abi_minor\"")) + 1;
  text.replace(place, text.find_first_of(",\n", place) - place, "1e300");
  for (const std::string& odd : {text, std::string(100000, '[')}) EXPECT_THROW(parse_manifest(odd, "/x/y.json"), Error);
}

TEST(ManifestTest, OnlyOrdinaryFilesAreRead) {
  EXPECT_THROW(read_manifest("/dev/null"), Error);
  EXPECT_THROW(read_manifest("/nowhere/at_all.json"), Error);
  const ModuleFolder folder;
  write_text(folder.manifest("large"), std::string(2 << 20, ' '));
  EXPECT_THROW(read_manifest(folder.manifest("large")), Error);
}

}  // namespace
}  // namespace tessera
