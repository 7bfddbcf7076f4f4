// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor and sequence parallelism compute what one rank computes: loss, norm and every gradient of compiled plans on
// thread ranks, whatever divides and whatever does not.
#include <gtest/gtest.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "test/acceptance/parallel_run.hpp"
#include "test/acceptance/tiny_dense.hpp"

namespace tessera {
namespace {

using acceptance::ParallelLayout;
using acceptance::ParallelRun;
using acceptance::Residual;
using acceptance::StepLog;

/// Eight query heads. Nothing else need divide: 131 tokens of the vocabulary, 6 or 26 features of a block, 30 or 5
/// tokens of a sample, so that some ranks have short parts or none.
std::vector<ModelConfig> models() {
  std::vector<ModelConfig> list;
  for (const std::int64_t key_heads : {8, 4, 2, 1}) {
    ModelConfig model = acceptance::tiny_dense();
    model.layers = 2;
    model.heads = 8;
    model.kv_heads = key_heads;
    model.ffn = key_heads == 4 ? 6 : 26;
    model.sequence = key_heads == 2 ? 5 : key_heads == 1 ? 30 : 32;
    model.tied = model.qk_norm = model.biases = key_heads <= 2;
    list.push_back(model);
  }
  ModelConfig gpt = acceptance::tiny_gpt();
  gpt.layers = 2;
  gpt.heads = 8;
  gpt.kv_heads = 2;
  gpt.sequence = 30;
  gpt.dropout = 0.1;
  list.push_back(gpt);
  return list;
}

StepLog run(const ModelConfig& model, const ParallelLayout& layout, std::int64_t head_pieces = 1) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  ParallelRun run(model, DType::f64, layout, optimizer);
  run.training.clip = 0.5;
  run.training.head_pieces = head_pieces;
  return acceptance::train_steps(run.training, 2, acceptance::unequal);
}

class TensorParity : public testing::TestWithParam<ParallelLayout> {};

TEST_P(TensorParity, LossNormAndGradientsAreThoseOfOneRank) {
  static std::vector<StepLog> one_rank;
  std::size_t m = 0;
  for (const ModelConfig& model : models()) {
    SCOPED_TRACE("model " + std::to_string(m));
    if (one_rank.size() == m) one_rank.push_back(run(model, {}));
    expect_parity(run(model, GetParam()), one_rank[m++], DType::f64);
  }
}

std::vector<ParallelLayout> layouts() {
  std::vector<ParallelLayout> all;
  for (const int tensor : {2, 4, 8})
    for (const Residual residual : {Residual::replicated, Residual::split})
      for (const int data : {1, 2})
        if (tensor * data <= 8) all.push_back({tensor, residual, data});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TensorParity, testing::ValuesIn(layouts()),
                         [](const auto& test) { return name_of(test.param); });

/// Twelve query heads on three to twelve ranks: where ranks share key heads in uneven ways, a rank's queries read some
/// heads of its part in full and others in part.
TEST(TensorKeyHeads, NeedNotDivide) {
  for (const std::int64_t key_heads : {2, 4, 6}) {
    ModelConfig model = models()[2];
    model.hidden = 48;
    model.heads = 12;
    model.kv_heads = key_heads;
    const StepLog one = run(model, {});
    for (const int tensor : {3, 4, 6, 12})
      for (const Residual residual : {Residual::replicated, Residual::split}) {
        const ParallelLayout layout{tensor, residual};
        SCOPED_TRACE(name_of(layout) + ", key heads: " + std::to_string(key_heads));
        expect_parity(run(model, layout), one, DType::f64);
      }
  }
}

TEST(TensorEvaluation, IsThatOfOneRank) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const ModelConfig model = models()[4];
  const auto evaluate = [&](const ParallelLayout& layout) {
    EvaluationOutcome outcome;
    ParallelRun run(model, DType::f64, layout, optimizer);
    testing_support::run_training(run.training, [&](Engine& engine, int rank) {
      acceptance::TokenSource source({model.vocab, acceptance::unequal, {}, {}});
      const EvaluationOutcome seen = engine.evaluate(source, 3, 13);
      if (rank == 0) outcome = seen;
    });
    return outcome;
  };
  const EvaluationOutcome one = evaluate({});
  for (const ParallelLayout& layout : layouts()) {
    const EvaluationOutcome other = evaluate(layout);
    EXPECT_EQ(other.tokens, one.tokens) << layout;
    EXPECT_NEAR(other.loss, one.loss, 1e-12) << layout;
  }
}

/// Pieces of the head need parts of the sequence that are alike; the sequence is whole where the head reads it,
/// whatever the tensor ranks do with it before.
TEST(TensorHeadPieces, NeedOnlyDivideTheTokens) {
  ModelConfig model = models()[4];
  expect_parity(run(model, {4, Residual::split}, 3), run(model, {}), DType::f64);
  try {
    run(model, {4, Residual::split}, 4);
    FAIL() << "4 pieces of 30 tokens were not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_NE(std::string(error.what()).find("4 pieces of the head do not cut 30 tokens"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
