// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor and sequence parallelism compute what one rank computes: loss, norm and every gradient of compiled plans on
// thread ranks, whatever divides and whatever does not.
#include <gtest/gtest.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/acceptance/tiny_dense.hpp"

namespace tessera {
namespace {

using acceptance::StepLog;
using Residual = TensorParallel::Residual;

struct Layouts {
  int tensor = 1;
  Residual residual = Residual::replicated;
  int data = 1;
};

std::string layout_name(const testing::TestParamInfo<Layouts>& info) {
  const Layouts& l = info.param;
  return "tp" + std::to_string(l.tensor) + (l.residual == Residual::split ? "_sequence" : "") + "_dp" +
         std::to_string(l.data);
}

std::ostream& operator<<(std::ostream& out, const Layouts& l) {
  return out << l.tensor << " x " << l.data << " ranks";
}

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

StepLog run(const ModelConfig& model, const Layouts& layout, std::int64_t head_pieces = 1) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 14);
  const TensorParallel tensor(model.heads, model.kv_heads, layout.residual);
  testing_support::TrainingCase run;
  run.model = model;
  run.axes = {{"tp", "tp", layout.tensor}, {"dp", "dp", layout.data}};
  tensor.factor(run.axes);
  run.strategies = {&data, &tensor};
  run.optimizer = &optimizer;
  run.clip = 0.5;
  run.global_batch = 8;
  run.micro_batch = 2;
  run.head_pieces = head_pieces;
  return acceptance::train_steps(run, 2, acceptance::unequal);
}

class TensorParity : public testing::TestWithParam<Layouts> {};

TEST_P(TensorParity, LossNormAndGradientsAreThoseOfOneRank) {
  static std::vector<StepLog> one_rank;
  std::size_t m = 0;
  for (const ModelConfig& model : models()) {
    SCOPED_TRACE("model " + std::to_string(m));
    if (one_rank.size() == m) one_rank.push_back(run(model, {}));
    expect_parity(run(model, GetParam()), one_rank[m++], DType::f64);
  }
}

std::vector<Layouts> layouts() {
  std::vector<Layouts> all;
  for (const int tensor : {2, 4, 8})
    for (const Residual residual : {Residual::replicated, Residual::split})
      for (const int data : {1, 2})
        if (tensor * data <= 8) all.push_back({tensor, residual, data});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TensorParity, testing::ValuesIn(layouts()), layout_name);

/// Pieces of the head need parts of the sequence that are alike; the sequence is whole where the head reads it, whatever
/// the tensor ranks do with it before.
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
