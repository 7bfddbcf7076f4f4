// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Strategies that do the same work are refused, not applied twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/placed_model.hpp"
#include "test/support/test_strategies.hpp"

namespace tessera::test {
namespace {

std::string refusal(const Mesh& mesh, std::vector<const Strategy*> strategies) {
  const ModelConfig model{.layers = 1, .hidden = 8, .heads = 2, .kv_heads = 2, .ffn = 8, .vocab = 11, .sequence = 4};
  try {
    PlacedModel(model, {4, 2, 1}, mesh, strategies, Backward::left_out);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    return error.what();
  }
  return "";
}

TEST(Place, RefusesToSplitABatchTwice) {
  const Mesh mesh({{"dp", "dp", 2}});
  const DataStrategy data;
  EXPECT_EQ(refusal(mesh, {&data}), "");
  EXPECT_THAT(refusal(mesh, {&data, &data}), testing::HasSubstr("two strategies split input ids over dp"));
}

TEST(Place, RefusesToSplitAParameterTwice) {
  const Mesh mesh({{"tp", "tp", 2}});
  const TensorParallel tensor(2, 2, TensorParallel::Residual::replicated);
  EXPECT_EQ(refusal(mesh, {&tensor}), "");
  EXPECT_THAT(refusal(mesh, {&tensor, &tensor}),
              testing::HasSubstr("two strategies split parameter embedding over tp"));
}

}  // namespace
}  // namespace tessera::test
