// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of whole models are those of their loss, by central differences.
#include "test/support/placed_model.hpp"

namespace tessera::test {
namespace {

ModelConfig tiny(Architecture architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.layers = 2;
  config.hidden = 8;
  config.heads = 4;
  config.kv_heads = 2;
  config.ffn = 10;
  config.vocab = 11;
  config.sequence = 6;
  config.biases = config.qk_norm = true;
  config.tied = architecture == Architecture::gpt;
  config.dropout = 0.2;
  return config;
}

class FiniteDifferenceTest : public testing::TestWithParam<Architecture> {};

TEST_P(FiniteDifferenceTest, EveryParameterAtAFewEntries) {
  const ModelConfig config = tiny(GetParam());
  const MicroBatch micro_batch{6, 2, 2};
  const Mesh mesh({{"tp", "tp", 1}});
  const NamedValues inputs = random_inputs(config, micro_batch, 4), weights = random_weights(config, 5);
  constexpr double k_seed = 0.1, k_step = 1e-3;
  const PlacedModel::Result result = PlacedModel(config, micro_batch, mesh, {}).run(inputs, weights, k_seed);
  const PlacedModel forward(config, micro_batch, mesh, {}, Backward::left_out);
  ASSERT_EQ(result.gradients.size(), weights.size());
  for (const auto& [name, values] : weights) {
    double largest = 0;
    for (double g : result.gradients.at(name)) largest = std::max(largest, std::abs(g));
    for (std::size_t entry = 0; entry < values.size(); entry += std::max<std::size_t>(1, values.size() / 3)) {
      const auto loss_at = [&](double shift) {
        NamedValues moved = weights;
        moved.at(name)[entry] += shift;
        return forward.run(inputs, moved, k_seed).loss;
      };
      const double numeric =
          (8 * (loss_at(k_step) - loss_at(-k_step)) - (loss_at(2 * k_step) - loss_at(-2 * k_step))) / (12 * k_step);
      EXPECT_NEAR(result.gradients.at(name)[entry], numeric, 1e-6 * largest) << name << " entry " << entry;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FiniteDifferenceTest, testing::Values(Architecture::llama, Architecture::gpt),
                         [](const auto& test) { return test.param == Architecture::llama ? "llama" : "gpt"; });

}  // namespace
}  // namespace tessera::test
