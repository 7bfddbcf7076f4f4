// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Impossible runs are refused by a message with key, value and rule, before anything is allocated.
#include "core/config/run_rules.hpp"

#include <gmock/gmock.h>

#include "core/config/core_options.hpp"
#include "core/config/resolve.hpp"
#include "core/config/sources.hpp"

namespace tessera {
namespace {

using testing::IsEmpty;

struct Case {
  const char* text;  ///< of a run file
  std::int64_t world;
  const char *what, *where, *hint;
};

class BrokenRules : public testing::TestWithParam<Case> {};

std::vector<Problem> problems_of(std::string_view text, std::int64_t world) {
  std::vector<Problem> problems;
  const Resolved resolved = resolve(core_options(), read_ini(text, "run.ini", problems));
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(resolved.problems, IsEmpty());
  return check_run(resolved.settings, world);
}

TEST_P(BrokenRules, AreReportedWithNumbersAndAWayOut) {
  const Case& expected = GetParam();
  const std::vector<Problem> problems = problems_of(expected.text, expected.world);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].what, expected.what);
  EXPECT_EQ(problems[0].where, expected.where);
  EXPECT_EQ(problems[0].hint, expected.hint);
}

const Case k_cases[] = {
    {"[model]\nhidden = 12\nheads = 4\n", 1, "model.hidden / model.heads = 12 / 4 must be even for rotary positions",
     "run.ini:3", ""},
    {"[data]\nsplit = 9, x\n", 1, "data.split = 9, x is not a list of one or two shares, the first above 0",
     "run.ini:2", "Write it as '0.99, 0.01' or '99, 1'."},
    {"[train]\neval_interval = 5\n", 1, "train.eval_interval is set, but there is nothing to evaluate on", "run.ini:2",
     "Name a dataset in data.valid, or keep a part of the training data with data.split = 99, 1."},
    {"[checkpoint]\nresume =\n", 1, "checkpoint.resume is empty", "run.ini:2",
     "Write auto, none, or the path of a checkpoint."},
    {"[model]\nhidden = 64\nheads = 6\nkv_heads = 2\n", 1, "model.hidden = 64 is not a multiple of model.heads = 6",
     "run.ini:3", "Heads must divide the features: 1, 2, 4, 8, 16, 32, 64; or set model.head_dim."},
    {"[model]\nheads = 12\nkv_heads = 5\n", 1, "model.heads = 12 is not a multiple of model.kv_heads = 5", "run.ini:3",
     "Heads of keys must divide those of queries: 1, 2, 3, 4, 6, 12."},
    {"[model]\nexperts = 4\nexperts_per_token = 5\n", 1, "model.experts_per_token = 5 is more than model.experts = 4",
     "run.ini:3", ""},
    {"[model]\narchitecture = gpt\nexperts = 4\n", 1,
     "model.experts = 4, but model.architecture = gpt: only llama has layers of experts", "run.ini:3",
     "Set model.architecture = llama, or model.experts = 0."},
    {"[parallel]\nexpert = 2\n", 2, "parallel.expert = 2, but the model has no experts", "run.ini:2",
     "Set model.experts, or parallel.expert = 1."},
    {"[model]\nlayers = 4\nexperts = 2\nexpert_interval = 5\n", 1,
     "model.expert_interval = 5 is more than model.layers = 4: no layer has experts", "run.ini:4", ""},
    {"[model]\nlayers = 4\nexperts = 2\nexpert_interval = 2\nexpert_layers = 1, 3\n", 1,
     "model.expert_interval = 2 and model.expert_layers = 1, 3 both say which layers have experts", "run.ini:4",
     "Keep one of them; --model.expert_layers= takes a preset's list back."},
    {"[model]\nlayers = 4\nexperts = 2\nexpert_layers = 1-4\n", 1,
     "model.expert_layers = 1-4: '1-4' is not among the layers 0 to 3", "run.ini:4",
     "Write rising layers and ranges: 1, 3, 5-7."},
    {"[model]\nlayers = 4\n[parallel]\npipeline = 4\nchunks = 2\n", 4,
     "model.layers = 4 is less than parallel.pipeline x parallel.chunks = 4 x 2", "run.ini:4",
     "Every chunk of a stage needs a layer."},
    {"[parallel]\ntensor = 4\n", 6,
     "6 ranks are not a multiple of parallel.tensor x parallel.context x parallel.pipeline = 4 x 1 x 1 = 4",
     "run.ini:2", "Start a multiple of 4 ranks, or choose sizes whose product is one of 1, 2, 3, 6."},
    {"[train]\nglobal_batch = 26\nmicro_batch = 2\n", 2,
     "train.global_batch = 26 is not a multiple of train.micro_batch x data-parallel ranks = 2 x 2", "run.ini:2",
     "Nearest: 24 and 28."},
    {"[lr]\nwarmup_steps = 20\ndecay_steps = 10\n", 1, "lr.warmup_steps = 20 is more than lr.decay_steps = 10",
     "run.ini:2", "The warm-up ends before the minimum is reached."},
    {"[lr]\nschedule = wsd\nwarmup_steps = 4\nwsd_steps = 7\ndecay_steps = 10\n", 1,
     "lr.warmup_steps + lr.wsd_steps = 4 + 7 is more than lr.decay_steps = 10", "run.ini:4", ""},
    {"[lr]\nmin = 0.1\n", 1, "lr.min = 0.1 is more than optimizer.lr = 0.0003", "run.ini:2", ""},
    {"[checkpoint]\ninterval = 5\n", 1, "checkpoint.interval = 5, but there is no checkpoint.dir", "run.ini:2",
     "Set checkpoint.dir to the folder for checkpoints."},
    {"[model]\nlayers = 8\n[parallel]\npipeline = 2\nlayers = 5, x\n", 2,
     "parallel.layers = 5, x is not a list of numbers above 0", "run.ini:5", "Write one number per chunk: 3, 3, 2."},
    {"[model]\nlayers = 8\n[parallel]\npipeline = 2\nlayers = 3, 3, 2\n", 2,
     "parallel.layers = 3, 3, 2 has 3 numbers, not parallel.pipeline x parallel.chunks = 2 x 1", "run.ini:5",
     "Write one number per chunk."},
    {"[model]\nlayers = 8\n[parallel]\npipeline = 2\nlayers = 5, 2\n", 2,
     "parallel.layers = 5, 2 are 7 layers, but model.layers = 8", "run.ini:5", ""},
};

INSTANTIATE_TEST_SUITE_P(Cases, BrokenRules, testing::ValuesIn(k_cases));

TEST(RunRules, GoodRunsHaveNoProblems) {
  EXPECT_THAT(problems_of("", 1), IsEmpty());
  EXPECT_THAT(problems_of("[parallel]\ntensor = 2\npipeline = 2\n[train]\nglobal_batch = 8\n", 8), IsEmpty());
  EXPECT_THAT(problems_of("[model]\nlayers = 8\n[parallel]\npipeline = 2\nlayers = 5, 3\n", 2), IsEmpty());
  EXPECT_THAT(problems_of("[model]\nlayers = 4\nexperts = 2\nexpert_layers = pattern [0,1]*2\n", 1), IsEmpty());
  EXPECT_THAT(problems_of("[parallel]\ntensor = 64\n", 0), IsEmpty());  // ranks are not known yet
}

TEST(RunRules, ThePlaceIsThatOfWhoeverWroteLast) {
  std::vector<Problem> problems;
  std::vector<Raw> raws = read_ini("[model]\nkv_heads = 8\n", "preset.ini", problems, Origin::From::preset);
  for (const Raw& raw : read_ini("[model]\nheads = 4\n", "run.ini", problems)) raws.push_back(raw);
  const std::vector<Problem> found = check_run(resolve(core_options(), raws).settings, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "model.heads = 4 is not a multiple of model.kv_heads = 8");
  EXPECT_EQ(found[0].where, "run.ini:2");
}

TEST(RunRules, SeveralAreReportedTogether) {
  EXPECT_EQ(problems_of("[model]\nheads = 5\nkv_heads = 2\n[lr]\nmin = 1\n[parallel]\ntensor = 2\n", 3).size(), 4U);
}

TEST(Available, WhatThisVersionCannotDoIsNamed) {
  const std::vector<Option> options{
      {.name = "a.precision", .fallback = "fp32", .available = std::vector<std::string>{"fp32", "fp64"}},
      {.name = "a.missing", .available = std::vector<std::string>{}},
      {.name = "a.all", .fallback = "x"}};
  EXPECT_THAT(check_available(settings_of({}, options), options), IsEmpty());
  EXPECT_THAT(check_available(settings_of({{"a.precision", "fp64"}, {"a.all", "y"}}, options), options), IsEmpty());
  const auto problems = check_available(settings_of({{"a.precision", "bf16"}, {"a.missing", "1"}}, options), options);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].what, "a.precision = bf16: this version has only fp32, fp64");
  EXPECT_EQ(problems[0].where, "a.precision = bf16");
  EXPECT_EQ(problems[1].what, "a.missing is not in this version");
}

}  // namespace
}  // namespace tessera
