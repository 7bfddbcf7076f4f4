// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/resolve.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/config/core_options.hpp"
#include "core/config/nearest.hpp"
#include "core/config/sources.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Resolved run_file(std::string_view text, std::vector<std::string> arguments = {}) {
  std::vector<Problem> problems;
  std::vector<Raw> raws = read_ini(text, "run.ini", problems);
  for (Raw& raw : read_flags(arguments, core_options(), problems).raws) raws.push_back(std::move(raw));
  Resolved resolved = resolve(core_options(), raws);
  resolved.problems.insert(resolved.problems.begin(), problems.begin(), problems.end());
  return resolved;
}

MATCHER_P3(IsProblem, what, where, hint, "") {
  return arg.what == what && arg.where == where && arg.hint.find(hint) != std::string::npos;
}

TEST(Resolve, DefaultsFileAndFlagsInThisOrder) {
  const Resolved resolved = run_file("[model]\nlayers = 2\nhidden = 64\n", {"--model.hidden=128"});
  EXPECT_THAT(resolved.problems, IsEmpty());
  const Settings& settings = resolved.settings;
  EXPECT_EQ(settings.get<int>("model.heads"), 12);
  EXPECT_EQ(to_string(settings.origin("model.heads")), "default");
  EXPECT_EQ(settings.get<std::int64_t>("model.layers"), 2);
  EXPECT_EQ(to_string(settings.origin("model.layers")), "run.ini:2");
  EXPECT_EQ(settings.get<std::int64_t>("model.hidden"), 128);
  EXPECT_EQ(to_string(settings.origin("model.hidden")), "--model.hidden");
}

TEST(Resolve, DefaultsMayFollowOtherOptions) {
  const Settings gpt = run_file("[model]\narchitecture = gpt\nheads = 4\n[train]\nsteps = 7\n").settings;
  EXPECT_TRUE(gpt.get<bool>("model.biases"));
  EXPECT_EQ(gpt.get<int>("model.kv_heads"), 4);
  EXPECT_EQ(gpt.get<int>("lr.decay_steps"), 7);
  const Settings llama = run_file("[model]\nkv_heads = 2\n").settings;
  EXPECT_FALSE(llama.get<bool>("model.biases"));
  EXPECT_EQ(llama.get<int>("model.kv_heads"), 2);
}

TEST(Resolve, EveryKeyMutatedByOneLetterIsFoundAgain) {
  std::vector<std::string> names;
  for (const Option& option : core_options()) names.push_back(option.name);
  const auto mutants = [](const std::string& name) {
    std::vector<std::string> made;
    for (std::size_t i = 0; i < name.size(); ++i) {
      made.push_back(std::string(name).erase(i, 1));
      made.push_back(std::string(name).insert(i, 1, 'q'));
      made.push_back(name);
      made.back()[i] = name[i] == 'x' ? 'y' : 'x';
      if (i + 1 < name.size() && name[i] != name[i + 1]) {
        made.push_back(name);
        std::swap(made.back()[i], made.back()[i + 1]);
      }
    }
    return made;
  };
  int tried = 0;
  for (const std::string& name : names) {
    for (const std::string& mutant : mutants(name)) {
      if (std::find(names.begin(), names.end(), mutant) != names.end()) continue;
      const auto problems =
          resolve(core_options(), std::vector<Raw>{{mutant, "1", {Origin::From::file, "run.ini:9"}}}).problems;
      ASSERT_EQ(problems.size(), 1U) << mutant;
      EXPECT_EQ(problems[0].what, "unknown key " + mutant);
      EXPECT_EQ(problems[0].where, "run.ini:9");
      EXPECT_THAT(problems[0].hint, HasSubstr(name)) << mutant;
      // Alone, unless another name is as near as this one.
      const auto as_near = std::count_if(names.begin(), names.end(),
                                         [&](const std::string& other) { return edit_distance(mutant, other) <= 1; });
      if (as_near == 1) {
        EXPECT_EQ(problems[0].hint, "did you mean " + name + "?") << mutant;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 3000);
}

TEST(Resolve, AllProblemsAtOnceWithTheirPlaces) {
  const Resolved resolved = run_file(
      "[model]\nlayrs = 2\nheads = none\nhidden = 64\nhidden = 65\n[train]\nprecision = fp8\nmicro_batch = 0\n"
      "[zero]\nstage = 2\n[parallel]\ntensr_parallel_degree = 2\n"
      "[lr]\nschedule = constant\nmin = 1e-5\n",
      {"--train.watchdog=soon", "--seed", "1", "--train.seed=2"});
  EXPECT_THAT(
      resolved.problems,
      ElementsAre(IsProblem("unknown key model.layrs", "run.ini:2", "did you mean model.layers?"),
                  IsProblem("model.heads must be an integer, not 'none'", "run.ini:3", ""),
                  IsProblem("model.hidden is given twice", "run.ini:5", "run.ini:4"),
                  IsProblem("train.precision must be one of fp64, fp32, bf16, fp16, not 'fp8'", "run.ini:7", ""),
                  IsProblem("train.micro_batch must be from 1 to 65536, not '0'", "run.ini:8", ""),
                  IsProblem("unknown key parallel.tensr_parallel_degree", "run.ini:12",
                            "The keys of [parallel] are: tensor sequence pipeline"),
                  IsProblem("train.watchdog must be a duration, not 'soon'", "--train.watchdog", "90s"),
                  IsProblem("train.seed is given twice", "--train.seed", "--seed"),
                  IsProblem("zero.stage is not used, since strategy.data is data_parallel", "run.ini:10",
                            "It is used when strategy.data=zero. strategy.data comes from: default."),
                  IsProblem("lr.min is not used, since lr.schedule is constant", "run.ini:15",
                            "It is used when lr.schedule!=constant. lr.schedule comes from: run.ini:14.")));
  // What was wrong has its default, the rest its value.
  EXPECT_EQ(resolved.settings.get<int>("train.micro_batch"), 1);
  EXPECT_EQ(resolved.settings.get<int>("zero.stage"), 2);
  const std::string message = run_error(resolved.problems).what();
  EXPECT_THAT(message, HasSubstr("10 problems"));
  for (const Problem& problem : resolved.problems) EXPECT_THAT(message, HasSubstr(problem.where + ": " + problem.what));
  EXPECT_EQ(run_error(resolved.problems).kind(), ErrorKind::configuration);
}

TEST(Resolve, UnknownSectionsAreNamed) {
  const auto problems = run_file("[something_else]\nkey = 1\n").problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].hint, HasSubstr("The sections are: model parallel strategy zero train"));
}

TEST(Resolve, ModulesBringOptionsAndDormantOnesAreExplained) {
  const std::vector<Option> muon =
      parse_options(R"([{"name": "muon.momentum", "type": "real", "default": 0.95, "text": "x."}])", "optimizer/muon");
  const std::vector<Raw> raws{{"muon.momentum", "0.9", {Origin::From::file, "run.ini:3"}}};
  const auto unnamed = resolve(core_options(), raws, muon);
  EXPECT_THAT(unnamed.problems,
              ElementsAre(IsProblem("muon.momentum belongs to the module optimizer/muon, which this run does not use",
                                    "run.ini:3", "Remove it, or name the module.")));
  std::vector<Option> all = core_options();
  all.insert(all.end(), muon.begin(), muon.end());
  const auto named = resolve(all, raws);
  EXPECT_THAT(named.problems, IsEmpty());
  EXPECT_EQ(named.settings.get<double>("muon.momentum"), 0.9);
  all.insert(all.end(), muon.begin(), muon.end());
  EXPECT_THAT(resolve(all, raws).problems.front().what, HasSubstr("declared by optimizer/muon and by optimizer/muon"));
}

TEST(Resolve, FaultyDefaultsOfATableAreRefused) {
  const auto resolved_with = [](std::string_view fallback) {
    const std::vector<Option> options{
        {.name = "a.b", .type = OptionType::integer, .fallback = std::string(fallback), .owner = "x/y"}};
    return resolve(options, {});
  };
  EXPECT_EQ(resolved_with("3").settings.get<int>("a.b"), 3);
  EXPECT_THROW(resolved_with("=a.b"), Error);
  EXPECT_THROW(resolved_with("=a.c"), Error);
  EXPECT_THROW(resolved_with("three"), Error);
}

TEST(Resolve, SettingsOfAssignments) {
  EXPECT_EQ(settings_of({{"model.layers", "3"}}).get<int>("model.layers"), 3);
  EXPECT_THROW(settings_of({{"model.layers", "x"}}), Error);
}

}  // namespace
}  // namespace tessera
