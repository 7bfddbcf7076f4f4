// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Context parallelism computes what one rank computes: loss, norm and every gradient of compiled plans on thread ranks,
// for every strategy, with and without documents, beside data and tensor parallelism.
#include <gtest/gtest.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/acceptance/tiny_dense.hpp"
#include "test/support/context_strategies.hpp"

namespace tessera {
namespace {

using acceptance::StepLog;
using acceptance::TokenSource;

constexpr std::int64_t k_steps = 2;

enum class Documents : std::uint8_t { one, several };

struct Case {
  std::string strategy;
  int context = 1, data = 1, tensor = 1;
  Documents documents = Documents::one;
  Zigzag zigzag = Zigzag::never;
};

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return c.strategy + "_cp" + std::to_string(c.context) + "_dp" + std::to_string(c.data) + "_tp" +
         std::to_string(c.tensor) + (c.documents == Documents::several ? "_documents" : "") +
         (c.zigzag == Zigzag::always ? "_zigzag" : "");
}

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.strategy << " on " << c.context << " x " << c.data << " x " << c.tensor << " ranks";
}

/// Eight query heads, so that tensor and context ranks can share them; grouped keys, or everything that a model can
/// have.
ModelConfig model_of(Architecture architecture) {
  ModelConfig model = architecture == Architecture::llama ? acceptance::tiny_dense() : acceptance::tiny_gpt();
  model.layers = 2;
  model.heads = 8;
  model.kv_heads = architecture == Architecture::llama ? 2 : 8;
  model.qk_norm = architecture == Architecture::gpt;
  model.dropout = architecture == Architecture::gpt ? 0.1 : 0;
  return model;
}

/// Very unequal numbers of targets, with holes; documents of 10, 7 and 15 tokens where there are several.
TokenSource::Options data_of(const ModelConfig& model, Documents documents) {
  TokenSource::Options data{model.vocab, acceptance::unequal, {}, {}};
  data.counts = [](std::int64_t c, std::int64_t place) { return (c + place) % 5 != 2; };
  if (documents == Documents::several)
    data.document_start = [](std::int64_t, std::int64_t place) -> std::int64_t {
      return place < 10 ? 0 : place < 17 ? 10 : 17;
    };
  return data;
}

StepLog run(const Case& c, Architecture architecture) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 16);
  const auto context = test::context_strategy(c.strategy, c.zigzag);
  testing_support::TrainingCase run;
  run.model = model_of(architecture);
  const TensorParallel tensor(run.model.heads, run.model.kv_heads, TensorParallel::Residual::split);
  run.axes = {{"tp", "tp", c.tensor}, {"cp", "cp", c.context}, {"dp", "dp", c.data}};
  run.strategies = {&data, &tensor, context.get()};
  run.optimizer = &optimizer;
  run.global_batch = 8;
  run.micro_batch = 2;
  run.executor.poison = c.documents == Documents::several;  // nobody may read what the plan gave up
  return train_steps(run, k_steps, data_of(run.model, c.documents));
}

const StepLog& one_rank(Architecture architecture, Documents documents) {
  static std::map<std::pair<Architecture, Documents>, StepLog> made;
  const auto key = std::pair(architecture, documents);
  if (!made.contains(key)) made.emplace(key, run({"allgather", 1, 1, 1, documents}, architecture));
  return made.at(key);
}

class ContextParityTest : public testing::TestWithParam<Case> {};

TEST_P(ContextParityTest, LossNormAndGradientsAreThoseOfOneRank) {
  for (const Architecture architecture : {Architecture::llama, Architecture::gpt})
    expect_parity(run(GetParam(), architecture), one_rank(architecture, GetParam().documents), DType::f64);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const std::string& strategy, Documents documents, Zigzag zigzag) {
    for (const int context : {2, 4}) {
      all.push_back({strategy, context, 1, 1, documents, zigzag});
      all.push_back({strategy, context, 2, 1, documents, zigzag});
      all.push_back({strategy, context, 1, 2, documents, zigzag});
    }
    all.push_back({strategy, 2, 2, 2, documents, zigzag});
  };
  for (const std::string& strategy : test::context_strategies())
    for (const Documents documents : {Documents::one, Documents::several}) {
      add(strategy, documents, Zigzag::never);
      if (strategy != "ulysses") add(strategy, documents, Zigzag::always);
    }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, ContextParityTest, testing::ValuesIn(cases()), case_name);

/// Documents change what is computed, so that the cases above can fail.
TEST(ContextParityReferenceTest, DocumentsMatter) {
  const StepLog &one = one_rank(Architecture::llama, Documents::one),
                &several = one_rank(Architecture::llama, Documents::several);
  EXPECT_EQ(one.steps[0].tokens, several.steps[0].tokens);
  EXPECT_GT(std::abs(one.steps[0].loss - several.steps[0].loss), 1e-5);
  EXPECT_GT(one.steps[0].gradient_norm, 0.1);
}

/// Passes on what it is asked for, and notes which places that was.
class NotingSource final : public BatchSource {
 public:
  explicit NotingSource(BatchSource& source) : source_(source) {}
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override {
    const std::int64_t begin = view.tokens.start[0];
    asked.push_back({begin, begin + view.tokens.extent[0]});
    source_.fill(first_sample, samples, view);
  }
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override {
    return source_.digest(first_sample, samples);
  }
  std::vector<Range> asked;

 private:
  BatchSource& source_;
};

/// Training and evaluation ask for an early and a late piece of the sequence for every rank.
TEST(ContextZigzagTest, EveryRankReadsTwoPieces) {
  const adamw::AdamW optimizer({});
  const DataParallel data(1 << 16);
  const auto context = test::context_strategy("ring", Zigzag::always);
  testing_support::TrainingCase run;
  run.model = model_of(Architecture::llama);
  run.axes = {{"cp", "cp", 2}};
  run.strategies = {&data, context.get()};
  run.optimizer = &optimizer;
  run.global_batch = run.micro_batch = 2;
  testing_support::run_training(run, [&](Engine& engine, int rank) {
    TokenSource tokens(data_of(run.model, Documents::one));
    NotingSource source(tokens);
    engine.step(source, 0, {1, 1e-3});
    const std::vector<Range> pieces =
        rank == 0 ? std::vector<Range>{{0, 8}, {24, 32}} : std::vector<Range>{{8, 16}, {16, 24}};
    EXPECT_EQ(source.asked, pieces);
    source.asked.clear();
    engine.evaluate(source, 0, 1);
    EXPECT_EQ(source.asked, pieces);
  });
}

}  // namespace
}  // namespace tessera
