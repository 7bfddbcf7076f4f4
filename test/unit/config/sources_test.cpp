// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/sources.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "core/config/core_options.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

MATCHER_P3(IsRaw, key, value, where, "") {
  return arg.key == key && arg.value == value && arg.origin.where == where;
}

MATCHER_P2(IsProblem, what, where, "") {
  return arg.what.find(what) != std::string::npos && arg.where == where;
}

std::vector<Raw> ini(std::string_view text, std::vector<Problem>* problems = nullptr) {
  std::vector<Problem> found;
  auto raws = read_ini(text, "run.ini", found);
  if (problems == nullptr) {
    EXPECT_THAT(found, IsEmpty());
  } else {
    *problems = found;
  }
  return raws;
}

TEST(Ini, EveryValueKnowsItsLine) {
  EXPECT_THAT(ini("; a comment\n# another\n[model]\nlayers = 2\n\n  hidden=64  \n[train]\r\nsteps = 5\r\n"),
              ElementsAre(IsRaw("model.layers", "2", "run.ini:4"), IsRaw("model.hidden", "64", "run.ini:6"),
                          IsRaw("train.steps", "5", "run.ini:8")));
}

TEST(Ini, SemicolonsBeginCommentsAsHashesDo) {
  EXPECT_THAT(ini("[a] ; first\nb = 10 ; x # y\nc = \"1 ; 2\" ; z\nd = ;\ne = 1;2\n"),
              ElementsAre(IsRaw("a.b", "10", "run.ini:2"), IsRaw("a.c", "1 ; 2", "run.ini:3"),
                          IsRaw("a.d", "", "run.ini:4"), IsRaw("a.e", "1;2", "run.ini:5")));
}

TEST(Ini, HashesAreKeptUnlessACommentBegins) {
  EXPECT_THAT(ini("[data]\ntrain = /data/run#3.h5\nvalid = /v.h5  # held out\nsplit = \"1 # 2\"  # odd\n"
                  "a = x=y;z\nb = # nothing\nc =\n"),
              ElementsAre(IsRaw("data.train", "/data/run#3.h5", "run.ini:2"), IsRaw("data.valid", "/v.h5", "run.ini:3"),
                          IsRaw("data.split", "1 # 2", "run.ini:4"), IsRaw("data.a", "x=y;z", "run.ini:5"),
                          IsRaw("data.b", "", "run.ini:6"), IsRaw("data.c", "", "run.ini:7")));
}

TEST(Ini, DuplicatesAreDelivered) {
  EXPECT_THAT(
      ini("[a]\nb = 1\n[c]\nb = 2\n[a]\nb = 3\n"),
      ElementsAre(IsRaw("a.b", "1", "run.ini:2"), IsRaw("c.b", "2", "run.ini:4"), IsRaw("a.b", "3", "run.ini:6")));
}

TEST(Ini, FaultyLinesAreNamedAndTheRestIsRead) {
  std::vector<Problem> problems;
  const auto raws =
      ini("x = 1\n[model\n[model] junk\n[model]  ; fine\nlayers\nlayers = 2\n= 3\ntwo words = 4\n"
          "path = \"open\na = \x1a\n",
          &problems);
  EXPECT_THAT(raws, ElementsAre(IsRaw("model.layers", "2", "run.ini:6")));
  EXPECT_THAT(problems,
              ElementsAre(IsProblem("before the first [section]", "run.ini:1"), IsProblem("no section", "run.ini:2"),
                          IsProblem("no section", "run.ini:3"), IsProblem("neither", "run.ini:5"),
                          IsProblem("neither", "run.ini:7"), IsProblem("neither", "run.ini:8"),
                          IsProblem("quoted", "run.ini:9"), IsProblem("control character", "run.ini:10")));
}

TEST(Ini, ByteOrderMarkAndMissingLastNewline) {
  EXPECT_THAT(ini("\xef\xbb\xbf[a]\nb = \xc3\xa4"), ElementsAre(IsRaw("a.b", "\xc3\xa4", "run.ini:2")));
  EXPECT_THAT(ini(""), IsEmpty());
}

TEST(Ini, AnyBytesAreReadOrReported) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string_view alphabet = "ab.=[]#;\" \t\r\n\n\n_-\x01\xff\\:";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto left = random() % 80; left > 0; --left) text += alphabet[random() % alphabet.size()];
    std::vector<Problem> problems;
    const std::vector<Raw> raws = read_ini("[s]\n" + text, "run.ini", problems);
    for (const Raw& raw : raws) {
      EXPECT_NE(raw.key.find('.'), std::string::npos) << text;
      EXPECT_NE(text.find(raw.value), std::string::npos) << text;  // no value is invented or changed
    }
    // A line is blank, a comment, a section, a value, or a problem: values and problems are at most all lines.
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    EXPECT_LE(raws.size() + problems.size(), static_cast<std::size_t>(lines)) << text;
    const auto assignments = [&] {
      std::size_t count = 0;
      std::istringstream stream(text);
      for (std::string line; std::getline(stream, line);) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos && std::string_view("#;[").find(line[first]) == std::string_view::npos) ++count;
      }
      return count;
    };
    EXPECT_GE(raws.size() + problems.size(), assignments()) << text;  // nothing is passed over
  }
}

Flags flags(std::vector<std::string> arguments, std::vector<Problem>* problems = nullptr) {
  std::vector<Option> options = core_options();
  options.push_back({.name = "output", .type = OptionType::path, .fallback = "", .owner = "prepare"});
  options.push_back({.name = "dry-run", .owner = "prepare"});
  std::vector<Problem> found;
  Flags read = read_flags(arguments, options, found);
  if (problems == nullptr) {
    EXPECT_THAT(found, IsEmpty());
  } else {
    *problems = found;
  }
  return read;
}

TEST(FlagsTest, ValuesBehindEqualsOrNext) {
  const Flags read =
      flags({"run.ini", "--model.layers=2", "--train.steps", "5", "--output", "x.h5", "more", "--", "--raw"});
  EXPECT_THAT(read.raws, ElementsAre(IsRaw("model.layers", "2", "--model.layers"),
                                     IsRaw("train.steps", "5", "--train.steps"), IsRaw("output", "x.h5", "--output")));
  EXPECT_THAT(read.positionals, ElementsAre("run.ini", "more", "--raw"));
}

TEST(FlagsTest, BooleansMayBeBare) {
  const Flags read = flags({"--train.deterministic", "run.ini", "--checkpoint.async", "off", "--model.tied=off"});
  EXPECT_THAT(read.raws, ElementsAre(IsRaw("train.deterministic", "on", "--train.deterministic"),
                                     IsRaw("checkpoint.async", "off", "--checkpoint.async"),
                                     IsRaw("model.tied", "off", "--model.tied")));
  EXPECT_THAT(read.positionals, ElementsAre("run.ini"));
}

TEST(FlagsTest, FlagsOfAVerbAreKnownWithHyphensAndUnderscores) {
  EXPECT_THAT(flags({"--dry-run=a", "--dry_run", "b"}).raws,
              ElementsAre(IsRaw("dry-run", "a", "--dry-run"), IsRaw("dry-run", "b", "--dry_run")));
}

TEST(FlagsTest, OptionsOfModulesNotYetFoundKeepTheirValues) {
  EXPECT_THAT(flags({"--muon.momentum", "0.9", "--muon.shift", "-1", "--muon.flag=on"}).raws,
              ElementsAre(IsRaw("muon.momentum", "0.9", "--muon.momentum"), IsRaw("muon.shift", "-1", "--muon.shift"),
                          IsRaw("muon.flag", "on", "--muon.flag")));
}

TEST(FlagsTest, FlagsOfOtherTrainersAreTranslated) {
  const Flags read = flags({"--tensor-model-parallel-size", "8", "--bf16", "--untie-embeddings-and-output-weights",
                            "--sequence-parallel", "--exit-duration-in-mins", "230", "--lr=1e-3"});
  EXPECT_THAT(read.raws, ElementsAre(IsRaw("parallel.tensor", "8", "--tensor-model-parallel-size"),
                                     IsRaw("train.precision", "bf16", "--bf16"),
                                     IsRaw("model.tied", "off", "--untie-embeddings-and-output-weights"),
                                     IsRaw("parallel.sequence", "on", "--sequence-parallel"),
                                     IsRaw("train.stop_after", "230m", "--exit-duration-in-mins"),
                                     IsRaw("optimizer.lr", "1e-3", "--lr")));
  EXPECT_EQ(read.raws.front().origin.from, Origin::From::alias);
}

TEST(FlagsTest, FaultsAreNamedAndTheRestIsRead) {
  std::vector<Problem> problems;
  const Flags read =
      flags({"--outptu", "x", "-v", "--bf16=yes", "--train.seed", "--train.steps=3", "--model.layers"}, &problems);
  EXPECT_THAT(problems, ElementsAre(IsProblem("unknown flag --outptu", ""), IsProblem("unknown flag -v", ""),
                                    IsProblem("takes no value", "--bf16"), IsProblem("needs a value", "--train.seed"),
                                    IsProblem("needs a value", "--model.layers")));
  EXPECT_EQ(problems.front().hint, "did you mean output?");
  EXPECT_THAT(read.raws, ElementsAre(IsRaw("train.steps", "3", "--train.steps")));
  EXPECT_THAT(read.positionals, ElementsAre("x"));
}

TEST(Environment, OnlyVariablesOfOptionsAreRead) {
  const std::vector<std::string> variables{"HOME=/root", "TESSERA_MODULE_PATH=/m", "TESSERA__TRAIN__GLOBAL_BATCH=8",
                                           "TESSERA__OUTPUT=x=y"};
  EXPECT_THAT(read_environment(variables), ElementsAre(IsRaw("train.global_batch", "8", "TESSERA__TRAIN__GLOBAL_BATCH"),
                                                       IsRaw("output", "x=y", "TESSERA__OUTPUT")));
}

}  // namespace
}  // namespace tessera
