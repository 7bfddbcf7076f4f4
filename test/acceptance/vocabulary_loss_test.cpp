// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B13: the loss over a vocabulary that ranks share is that over the whole one, whether it divides or not: nothing is
// padded, so nothing enters the softmax, and no logit counts twice.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/graph/builder.hpp"
#include "core/scheduler/differentiate.hpp"
#include "core/scheduler/place.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "parallel_run.hpp"
#include "test/support/naive_executor.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

/// Six logits of one token, split over the vocabulary.
class SplitLogits final : public Strategy {
 public:
  void place_parameter(const Parameter&, const Shape&, const Mesh& mesh, Layout& layout) const override {
    layout.splits(2) = mesh.factors("tp");
  }
};

struct LossOf {
  double loss = 0;
  test::Values gradient;
};

/// Loss and its gradient of logits over so many ranks; target 1.
LossOf cross_entropy(const test::Values& logits, DType dtype, int ranks) {
  Graph logical;
  Builder builder(logical, dtype);
  const auto vocab = static_cast<std::int64_t>(logits.size());
  const Value target = builder.input("target", {{1, 1}, DType::i32}), mask = builder.input("mask", {{1, 1}, dtype});
  const Value loss = builder.cross_entropy(builder.parameter({"logits", {1, 1, vocab}}), target, mask);

  const Mesh mesh({{"tp", "tp", ranks}});
  Placed placed;
  Placer placer(placed.graph, mesh);
  const SplitLogits split;
  const Strategy* strategies[] = {&split};
  place(placed, placer, logical, strategies, {});
  ValueInfo info;
  info.type = {{}, DType::f64};
  info.role = ValueRole::input;
  const Value seed = placed.graph.add_value(std::move(info));
  differentiate(placer, {{placed.values.at(loss), seed}});

  test::NaiveExecutor executor(placed.graph, mesh);
  executor.set(placed.graph.parameters[0].value, logits);
  executor.set(placed.values.at(target), {1});
  executor.set(placed.values.at(mask), {1});
  executor.set(seed, {1});
  executor.run();
  return {executor.assemble(placed.values.at(loss))[0], executor.accumulated(0)};
}

TEST(AcceptanceB13, PartsOfTheVocabularyGiveTheLossOfTheWhole) {
  const test::Values logits{0, 2, -1, 3, 1, 0.5};
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit);
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int ranks : {1, 2, 3, 4, 5, 6, 8}) {  // four and more leave ranks with one logit or none
      const LossOf result = cross_entropy(logits, dtype, ranks);
      EXPECT_NEAR(result.loss, 1.502835, 1e-6) << ranks << " ranks";
      ASSERT_EQ(result.gradient.size(), 6U);
      for (std::size_t i = 0; i < 6; ++i)
        EXPECT_NEAR(result.gradient[i], std::exp(logits[i]) / sum - (i == 1 ? 1 : 0), 1e-6) << ranks << " ranks";
    }
}

TEST(AcceptanceB13, LargeLogitsGiveTheSameLoss) {
  for (const double shift : {1e4, -1e4}) {
    const test::Values logits{0 + shift, 2 + shift, -1 + shift, 3 + shift, 1 + shift, 0.5 + shift};
    for (const int ranks : {1, 2, 4}) {
      const LossOf result = cross_entropy(logits, DType::f32, ranks);
      EXPECT_NEAR(result.loss, 1.502835, 2e-3) << ranks << " ranks";
      EXPECT_NEAR(std::accumulate(result.gradient.begin(), result.gradient.end(), 0.0), 0, 2e-3) << ranks << " ranks";
    }
  }
}

const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});

struct Case {
  ModelConfig model;
  DType dtype;
  ParallelLayout layout;
};

StepLog twenty_steps(const Case& c) {
  return train_steps(ParallelRun(c.model, c.dtype, c.layout, k_adamw).training, 20, unequal);
}

/// 131 rows of the table: 66 and 65 on two ranks; 33, 33, 33 and 32 on four.
TEST(AcceptanceB13, TwentyStepsAreThoseOfOneRank) {
  ModelConfig tied = tiny_dense();
  tied.tied = true;
  for (const ModelConfig& model : {tiny_dense(), tied})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const StepLog one = twenty_steps({model, dtype, {}});
      for (const ParallelLayout& layout : {ParallelLayout{2}, {2, Residual::split}, {4}, {4, Residual::split}}) {
        SCOPED_TRACE(name_of(layout));
        expect_parity(twenty_steps({model, dtype, layout}), one, dtype);
      }
    }
}

}  // namespace
}  // namespace tessera::acceptance
