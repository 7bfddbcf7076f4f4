// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/flops.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace tessera {
namespace {

using testing::HasSubstr;

ModelConfig llama3_8b() {
  ModelConfig config;
  config.layers = 32;
  config.hidden = 4096;
  config.heads = 32;
  config.kv_heads = 8;
  config.ffn = 14336;
  config.vocab = 128256;
  config.sequence = 8192;
  return config;
}

// Published as 744 TFLOP/s at 14,451 tokens per second and device: 51.5 GFLOP per token.
TEST(Flops, Llama3MeetsThePublishedNumber) {
  const TokenFlops flops = token_flops(llama3_8b());
  EXPECT_NEAR(flops.model() * 1e-9, 51.5, 0.05);
  // q and o 4096², k and v 1024 x 4096, three of 14336 x 4096; head 128256 x 4096
  EXPECT_EQ(flops.matrices,
            6.0 * (32.0 * (2 * 4096.0 * 4096 + 2 * 1024.0 * 4096 + 3 * 14336.0 * 4096) + 128256.0 * 4096));
  EXPECT_EQ(flops.attention, 6.0 * 32 * 4096 * 8192);
}

TEST(Flops, ATiedTableIsOneMatrixAndPositionsAreNone) {
  ModelConfig gpt2;
  gpt2.architecture = Architecture::gpt;
  gpt2.layers = 12;
  gpt2.hidden = 768;
  gpt2.heads = 12;
  gpt2.ffn = 3072;
  gpt2.vocab = 50257;
  gpt2.sequence = 1024;
  gpt2.biases = true;
  gpt2.tied = true;
  const TokenFlops tied = token_flops(gpt2);
  EXPECT_EQ(tied.matrices, 6.0 * (12 * 12.0 * 768 * 768 + 50257.0 * 768));
  gpt2.tied = false;
  EXPECT_EQ(token_flops(gpt2).matrices, tied.matrices);
}

// Layers 0 and 3 are dense; in the others 2 of 8 experts work for a token, one that all visit, and a router.
TEST(Flops, OnlyTheExpertsThatATokenVisitsCount) {
  ModelConfig config{.layers = 4, .hidden = 64, .heads = 4, .kv_heads = 4, .ffn = 176, .vocab = 131, .sequence = 32};
  config.experts = {.count = 8, .ffn = 48, .shared_ffn = 40, .layers = {1, 2}};
  const double attention = 4 * 64.0 * 64, dense = 3 * 176.0 * 64, sparse = (8 + 3 * (2 * 48.0 + 40)) * 64;
  EXPECT_EQ(token_flops(config).matrices, 6 * (4 * attention + 2 * dense + 2 * sparse + 131.0 * 64));
}

TEST(Flops, RecomputationCountsForTheHardwareOnly) {
  const TokenFlops flops{.matrices = 90, .attention = 30};
  EXPECT_EQ(hardware_flops(flops, Recompute::none), 120);
  EXPECT_EQ(hardware_flops(flops, Recompute::selective), 130);
  EXPECT_EQ(hardware_flops(flops, Recompute::full), 160);
  EXPECT_EQ(hardware_flops(flops, Recompute::block, 0.25), 130);
  EXPECT_EQ(hardware_flops(flops, Recompute::block, 1), hardware_flops(flops, Recompute::full));
}

// 30 B parameters, 900 tokens per second on each of 64 devices with a dense peak of 989 TFLOP/s, full recomputation.
TEST(Flops, UtilisationOfAKnownExample) {
  const TokenFlops flops{.matrices = 6 * 30e9};
  const StepWork work{.tokens = 900 * 64 * 20, .seconds = 20, .devices = 64, .peak_flops = 989e12};
  const Throughput done = throughput(flops, hardware_flops(flops, Recompute::full), work);
  EXPECT_DOUBLE_EQ(done.tokens_per_second, 900 * 64);
  EXPECT_NEAR(done.model_tflops, 162, 1e-9);
  EXPECT_NEAR(done.mfu, 0.164, 5e-4);
  EXPECT_NEAR(done.hfu, 0.218, 5e-4);
}

TEST(Flops, WithoutAPeakThereIsNoUtilisation) {
  const Throughput done = throughput({.matrices = 6e9}, 6e9, {.tokens = 100, .seconds = 1});
  EXPECT_TRUE(std::isnan(done.mfu));
  EXPECT_TRUE(std::isnan(done.hfu));
  EXPECT_DOUBLE_EQ(done.model_tflops, 0.6);
  EXPECT_THAT(describe_flops({.matrices = 6e9}, 0), HasSubstr("unknown"));
}

TEST(Flops, TheConventionIsSaid) {
  EXPECT_EQ(describe_flops(token_flops(llama3_8b()), 989e12),
            "51.47 GFLOP per token: 6 x elements of matrices (45.03), embedding lookup excluded, + causal half of "
            "attention (6.442); recomputation excluded.\n"
            "MFU: these FLOPs against a dense peak of 989 TFLOP/s per device. HFU adds recomputation.");
}

}  // namespace
}  // namespace tessera
