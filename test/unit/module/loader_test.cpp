// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/loader.hpp"

#include <gmock/gmock.h>

#include "core/base/error.hpp"
#include "core/config/resolve.hpp"
#include "core/module/linked_modules.hpp"
#include "test/unit/module/fixture.hpp"
#include "test/unit/module/greeter.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

std::vector<ModuleState> states(const ModuleLoader& loader) {
  std::vector<ModuleState> found;
  for (const ModuleRecord& record : loader.records()) found.push_back(record.state);
  return found;
}

TEST(Loader, AModuleIsListedThenLoadedThenUsed) {
  const ModuleFolder folder;
  folder.add_built("good");
  Registry registry;
  ModuleLoader loader(registry, {{folder.path(), "test"}});
  const ModuleRecord& listed = loader.find("test", "good");
  EXPECT_EQ(listed.state, ModuleState::listed);
  EXPECT_EQ(listed.manifest.summary, "says hello; once, 'twice'");
  EXPECT_FALSE(registry.has<Greeter>("good"));

  const Settings settings = settings_of({{"good.word", "moin"}}, listed.manifest.options);
  const ModuleRecord& loaded = loader.load("test", "good");
  EXPECT_EQ(loaded.state, ModuleState::loaded);
  EXPECT_EQ(loaded.score, 100);
  EXPECT_EQ(registry.create<Greeter>("good", settings)->greet(), "moin from a module");
  EXPECT_EQ(registry.owner<Greeter>("good"), "test/good");
  EXPECT_EQ(&loader.load("test", "good"), &loaded);  // a second time does nothing
}

TEST(Loader, ErrorsOfAModuleReachTheCaller) {
  const ModuleFolder folder;
  folder.add_built("good");
  Registry registry;
  ModuleLoader loader(registry, {{folder.path(), "test"}});
  const Settings settings = settings_of({{"good.word", "bad"}}, loader.load("test", "good").manifest.options);
  try {
    registry.create<Greeter>("good", settings);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "good.word is bad");
    EXPECT_EQ(error.hint(), "say something nice");
  }
}

TEST(Loader, AMissingModuleIsReportedWithTheSearchOrder) {
  const ModuleFolder folder;
  folder.add_built("good");
  Registry registry;
  ModuleLoader loader(registry, {{"/nowhere/first", "--module-path"}, {folder.path(), "modules.path"}});
  try {
    loader.load("test", "goood");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_EQ(error.what(),
              "there is no module test/goood; searched in this order:\n  /nowhere/first (--module-path)\n  " +
                  folder.path().string() + " (modules.path)");
    EXPECT_EQ(error.hint(), "did you mean good?");
  }
}

TEST(Loader, TheFirstInSearchOrderIsTaken) {
  const ModuleFolder first, second;
  first.add_built("good");
  second.add_built("good");
  Registry registry;
  ModuleLoader loader(registry, {{first.path(), "a"}, {second.path(), "b"}});
  EXPECT_EQ(loader.load("test", "good").manifest.library, first.library("good"));
  EXPECT_THAT(states(loader), testing::ElementsAre(ModuleState::loaded, ModuleState::hidden));
  EXPECT_THAT(loader.records()[1].reason, HasSubstr(first.manifest("good").string() + " comes first"));
}

TEST(Loader, OneBadModuleDoesNotHideTheOthers) {
  const ModuleFolder folder;
  folder.add_built("good");
  folder.add_built("throws");
  write_text(folder.manifest("broken"), "{");
  write_text(folder.path() / "README.md", "not a module");
  Registry registry;
  ModuleLoader loader(registry, {{folder.path(), "test"}});
  EXPECT_THAT(states(loader), testing::ElementsAre(ModuleState::refused, ModuleState::listed, ModuleState::listed));
  EXPECT_THROW(loader.load("test", "throws"), Error);
  EXPECT_THROW(loader.load("test", "throws"), Error);  // still refused
  EXPECT_EQ(loader.load("test", "good").state, ModuleState::loaded);
}

TEST(Loader, TextOfWhatIsLoadedChangesWithTheLibrary) {
  const ModuleFolder folder;
  folder.add_built("good");
  const auto text = [&] {
    Registry registry;
    ModuleLoader loader(registry, {{folder.path(), "test"}});
    loader.load("test", "good");
    return loader.loaded_text();
  };
  const std::string before = text();
  EXPECT_TRUE(before.starts_with("test/good 1.2.3 ")) << before;
  EXPECT_EQ(before.size(), std::string("test/good 1.2.3 \n").size() + 32);
  write_text(folder.library("good"), text_of(folder.library("good")) + "x");
  EXPECT_NE(text(), before);
}

TEST(Loader, CheckSaysWhetherAFileWouldLoad) {
  const ModuleFolder folder;
  folder.add_built("good");
  folder.add_built("unsuitable");
  EXPECT_EQ(ModuleLoader::check(folder.library("good")).state, ModuleState::loaded);
  EXPECT_EQ(ModuleLoader::check(folder.manifest("good")).state, ModuleState::loaded);
  const ModuleRecord unsuitable = ModuleLoader::check(folder.library("unsuitable"));
  EXPECT_EQ(unsuitable.state, ModuleState::refused);
  EXPECT_THAT(unsuitable.reason, HasSubstr("there is no teapot"));
  EXPECT_EQ(ModuleLoader::check(folder.path() / "test_none.so").state, ModuleState::refused);
}

int linked_supported(char*, std::uint32_t) {
  return 50;
}
int linked_enroll(tessera_registrar* registrar, char*, std::uint32_t) {
  reinterpret_cast<Registrar*>(registrar)->add<Greeter>("linked", [](const Settings&) { return nullptr; });
  return 0;
}

TEST(Loader, ModulesOfTheProgramComeFirst) {
  const ModuleFolder folder;
  folder.add_built("good");
  const std::string tag(engine_build_tag());
  const tessera_module_descriptor linked = {sizeof(tessera_module_descriptor),
                                            TESSERA_ABI_MAJOR,
                                            TESSERA_ABI_MINOR,
                                            tag.c_str(),
                                            "test",
                                            "good",
                                            "9",
                                            "linked",
                                            "[]",
                                            linked_supported,
                                            linked_enroll};
  const tessera_module_descriptor* table[] = {&linked};
  Registry registry;
  ModuleLoader loader(registry, {{folder.path(), "test"}}, table);
  EXPECT_EQ(loader.load("test", "good").score, 50);
  EXPECT_TRUE(registry.has<Greeter>("linked"));
  EXPECT_EQ(loader.loaded_text(), "test/good 9 linked\n");
  EXPECT_EQ(loader.records()[1].reason, "the module that is linked in comes first in the search order");
}

TEST(Loader, EveryModuleOfThisBuildLoads) {
  Registry registry;
  ModuleLoader loader(registry, module_search_path({}, {}, {}), linked_modules());
  for (const ModuleRecord& record : loader.records()) {
    if (record.manifest.kind == "device") continue;  // may not suit this machine
    EXPECT_EQ(loader.load(record.manifest.kind, record.manifest.name).state, ModuleState::loaded);
  }
}

}  // namespace
}  // namespace tessera
