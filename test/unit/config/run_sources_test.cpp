// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/run_sources.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "core/base/install_tree.hpp"
#include "core/config/core_options.hpp"
#include "core/config/resolve.hpp"
#include "core/config/run_rules.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string run_file(std::string_view text) {
  const std::string path = testing::TempDir() + "run sources ü.ini";  // a space and UTF-8
  std::ofstream(path) << text;
  return path;
}

RunSources gather(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  return gather_sources(arguments, environment, core_options(), RunFile::first);
}

TEST(RunSources, FlagsBeatTheEnvironmentWhichBeatsTheFileWhichBeatsThePreset) {
  const std::string path = run_file("[model]\npreset = gpt2_124m\nlayers = 3\nhidden = 96\nheads = 6\n");
  const RunSources sources =
      gather({path, "--model.hidden=48"}, {"TESSERA__MODEL__HIDDEN=24", "TESSERA__MODEL__LAYERS=4"});
  EXPECT_THAT(sources.problems, IsEmpty());
  EXPECT_THAT(sources.positionals, ElementsAre(path));
  const Resolved resolved = resolve(core_options(), sources.raws);
  EXPECT_THAT(resolved.problems, IsEmpty());
  const Settings& settings = resolved.settings;
  EXPECT_EQ(settings.get<int>("model.hidden"), 48);
  EXPECT_EQ(settings.get<int>("model.layers"), 4);
  EXPECT_EQ(to_string(settings.origin("model.layers")), "TESSERA__MODEL__LAYERS");
  EXPECT_EQ(settings.get<int>("model.heads"), 6);
  EXPECT_EQ(to_string(settings.origin("model.heads")), path + ":5");
  EXPECT_EQ(settings.get<int>("model.vocab"), 50257);
  EXPECT_THAT(to_string(settings.origin("model.vocab")), HasSubstr("gpt2_124m.ini:"));
}

TEST(RunSources, UnknownPresetsAreNamed) {
  const RunSources sources = gather({"--model.preset=gpt2_124"});
  ASSERT_EQ(sources.problems.size(), 1U);
  EXPECT_THAT(sources.problems[0].what, HasSubstr("there is no preset 'gpt2_124'"));
  EXPECT_EQ(sources.problems[0].where, "--model.preset");
  EXPECT_THAT(sources.problems[0].hint, HasSubstr("gpt2_124m"));
}

TEST(RunSources, MissingRunFilesAreErrors) {
  EXPECT_THROW(gather({"/nowhere/run.ini"}), Error);
  EXPECT_THROW(gather({testing::TempDir()}), Error);
  EXPECT_THAT(
      gather_sources(std::vector<std::string>{"/nowhere/run.ini"}, {}, core_options(), RunFile::none).positionals,
      ElementsAre("/nowhere/run.ini"));
}

TEST(RunSources, AFileMayBeEmptyButMustBeText) {
  EXPECT_THAT(gather({run_file("")}).raws, IsEmpty());
  EXPECT_THROW(gather({run_file(std::string_view("[train]\n\0\n", 10))}), Error);
}

TEST(RunSources, VariablesWithOneUnderscoreAreNamed) {
  const RunSources sources = gather({}, {"TESSERA_TRAIN_STEPS=3", "TESSERA_MODULE_PATH=x", "TESSERA_OTHER=y"});
  ASSERT_EQ(sources.problems.size(), 1U);
  EXPECT_EQ(sources.problems[0].what, "TESSERA_TRAIN_STEPS has no effect");
  EXPECT_THAT(sources.raws, IsEmpty());
}

TEST(RunSources, EveryPresetIsAValidModel) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(share_folder() / "models")) {
    const std::string name = entry.path().stem().string();
    const RunSources sources = gather({"--model.preset=" + name});
    const Resolved resolved = resolve(core_options(), sources.raws);
    EXPECT_THAT(sources.problems, IsEmpty()) << name;
    EXPECT_THAT(resolved.problems, IsEmpty()) << name;
    EXPECT_THAT(check_run(resolved.settings, 1), IsEmpty()) << name;
    ++count;
  }
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace tessera
