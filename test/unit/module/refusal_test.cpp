// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Each way in which a module can be wrong has a sentence of its own.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/base/error.hpp"
#include "test/unit/module/fixture.hpp"
#include "test/unit/module/greeter.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

class Refusal : public testing::Test {
 protected:
  void change_manifest(std::string_view name, std::string_view from, std::string_view to) {
    write_text(folder_.manifest(name), replaced(text_of(folder_.manifest(name)), from, to));
  }

  ModuleFolder folder_;
};

TEST_F(Refusal, ManifestOfAnotherAbi) {
  folder_.add_built("good");
  change_manifest("good", "\"abi_major\" : 1", "\"abi_major\" : 2");
  EXPECT_THAT(refusal_of(folder_, "good"), HasSubstr("it speaks module ABI 2.0, this engine 1.0"));
}

TEST_F(Refusal, ManifestOfAnotherBuild) {
  folder_.add_built("good");
  change_manifest("good", "gcc", "icc");
  EXPECT_THAT(refusal_of(folder_, "good"), HasSubstr("it comes from another build: its tag is 'tessera abi 1.0, icc"));
}

TEST_F(Refusal, ManifestMissing) {
  folder_.add_built("good");
  std::filesystem::remove(folder_.manifest("good"));
  EXPECT_THAT(refusal_of(folder_, "good"), HasSubstr("test_good.json: the manifest is missing"));
}

TEST_F(Refusal, ManifestThatIsNoJson) {
  folder_.add_built("good");
  write_text(folder_.manifest("good"), "kind = test");
  EXPECT_THAT(refusal_of(folder_, "good"), HasSubstr("test_good.json: the manifest cannot be read: "));
}

TEST_F(Refusal, ManifestThatPointsElsewhere) {
  folder_.add_built("good");
  change_manifest("good", "test_good.so", "../test_good.so");
  EXPECT_THAT(refusal_of(folder_, "good"), HasSubstr("must be the name of a file beside the manifest"));
}

TEST_F(Refusal, LibraryMissing) {
  folder_.write_manifest("absent");
  EXPECT_THAT(refusal_of(folder_, "absent"), HasSubstr("the library does not exist"));
}

TEST_F(Refusal, LibraryThatIsText) {
  folder_.write_manifest("text");
  write_text(folder_.library("text"), "this is not a library\n");
  EXPECT_THAT(refusal_of(folder_, "text"), HasSubstr("the library is not a shared library"));
}

TEST_F(Refusal, LibraryThatIsAFolderOrAPipe) {
  folder_.write_manifest("folder");
  std::filesystem::create_directory(folder_.library("folder"));
  EXPECT_THAT(refusal_of(folder_, "folder"), HasSubstr("the library is not a regular file"));
  folder_.write_manifest("pipe");
  ASSERT_EQ(mkfifo(folder_.library("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal_of(folder_, "pipe"), HasSubstr("the library is not a regular file"));
}

TEST_F(Refusal, LibraryCutShortAnywhere) {
  folder_.add_built("good");
  const std::string whole = text_of(folder_.library("good"));
  for (std::size_t length = 0; length < whole.size(); length += whole.size() / 50 + 1) {
    write_text(folder_.library("good"), std::string_view(whole).substr(0, length));
    EXPECT_THAT(refusal_of(folder_, "good"),
                HasSubstr(length < 64 ? "is not a shared library" : "the library is cut short: it"))
        << length;
  }
}

TEST_F(Refusal, LibraryWithAnUndefinedSymbol) {
  folder_.add_handmade("undefined");
  EXPECT_THAT(refusal_of(folder_, "undefined"), AllOf(HasSubstr("the library cannot be loaded: "),
                                                      HasSubstr("undefined symbol: tessera_test_defined_nowhere")));
}

TEST_F(Refusal, LibraryThatIsNoModule) {
  folder_.add_handmade("no_symbol");
  EXPECT_THAT(refusal_of(folder_, "no_symbol"), HasSubstr("the library exports no tessera_module_v1: "));
}

TEST_F(Refusal, DescriptorOfAnotherAbiBehindAGoodManifest) {
  folder_.add_handmade("next_abi");
  EXPECT_THAT(refusal_of(folder_, "next_abi"), HasSubstr("it speaks module ABI 2.0, this engine 1.0"));
}

TEST_F(Refusal, DescriptorOfAnotherBuildBehindAGoodManifest) {
  folder_.add_handmade("other_tag");
  EXPECT_THAT(refusal_of(folder_, "other_tag"),
              HasSubstr("it comes from another build: its tag is 'tessera abi 1.0, gcc 4.8"));
}

TEST_F(Refusal, DescriptorThatIsTooShort) {
  folder_.add_handmade("short_struct");
  EXPECT_THAT(refusal_of(folder_, "short_struct"), HasSubstr("its descriptor has 64 bytes, 72 are needed"));
}

TEST_F(Refusal, DescriptorWithAnEmptyField) {
  folder_.add_handmade("empty_field");
  EXPECT_THAT(refusal_of(folder_, "empty_field"), HasSubstr("its descriptor has an empty field"));
}

TEST_F(Refusal, DescriptorOfAnotherModule) {
  folder_.add_handmade("other_name");
  EXPECT_THAT(refusal_of(folder_, "other_name"),
              HasSubstr("the library is test/somebody_else 1.2.3, its manifest says test/other_name 1.2.3"));
}

TEST_F(Refusal, ModuleThatDoesNotSuitTheMachine) {
  folder_.add_built("unsuitable");
  EXPECT_THAT(refusal_of(folder_, "unsuitable"), HasSubstr("it does not suit this machine: there is no teapot"));
}

TEST_F(Refusal, ModuleThatThrowsLeavesNothingBehind) {
  folder_.add_built("throws");
  Registry registry;
  EXPECT_THAT(refusal_of(folder_, "throws", registry), HasSubstr("it failed to enroll: no luck today"));
  EXPECT_THAT(registry.names<Greeter>(), IsEmpty());
}

TEST_F(Refusal, ModuleThatTakesTheNameOfAnother) {
  folder_.add_built("good");
  folder_.add_built("twice");
  Registry registry;
  ModuleLoader(registry, {{folder_.path(), "test"}}).load("test", "good");
  EXPECT_THAT(
      refusal_of(folder_, "twice", registry),
      HasSubstr(
          "it failed to enroll: test/twice adds a tessera::Greeter named 'good', which test/good has added already"));
  EXPECT_THAT(registry.names<Greeter>(), testing::ElementsAre("good"));
}

TEST_F(Refusal, ModuleThatEnrollsNothing) {
  folder_.add_built("nothing");
  EXPECT_THAT(refusal_of(folder_, "nothing"), HasSubstr("it enrolled nothing"));
}

}  // namespace
}  // namespace tessera
