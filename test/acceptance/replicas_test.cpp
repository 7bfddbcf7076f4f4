// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B29: under sequence parallelism every tensor rank sees its own tokens, so gradients of norms and of biases behind a
// sum are sums over the ranks; what all ranks hold stays the same bits.
#include <gtest/gtest.h>

#include <cmath>

#include "modules/optimizer/adamw/adamw.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});
constexpr std::int64_t k_steps = 10;

/// Biases everywhere and norms of heads too.
ModelConfig adorned() {
  ModelConfig model = tiny_dense();
  model.biases = model.qk_norm = true;
  return model;
}

/// What every tensor rank holds.
bool is_replicated(const std::string& name) {
  for (const char* end : {"gain", "norm1.bias", "norm2.bias", "norm.bias", "attention.o.bias", "feed_forward.down.bias",
                          "position_embedding"})
    if (name.ends_with(end)) return true;
  return false;
}

/// Equal bits of all replicas, and the losses of all steps, are checked by train_steps and expect_parity.
void expect_sums(const ModelConfig& model, DType dtype, const ParallelLayout& layout, const StepLog& one) {
  SCOPED_TRACE(name_of(layout));
  const StepLog log = train_steps(ParallelRun(model, dtype, layout, k_adamw).training, k_steps, unequal);
  expect_parity(log, one, dtype);
  int replicated = 0;
  for (const auto& [name, gradient] : one.gradients.tensors) {
    if (!is_replicated(name)) continue;
    ++replicated;
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      largest = std::max(largest, std::abs(gradient[i]));
      difference = std::max(difference, std::abs(gradient[i] - log.gradients.tensors.at(name)[i]));
    }
    EXPECT_LE(difference, 1e-5 * largest) << name;
    EXPECT_GT(largest, 1e-5) << name << " has no gradient to speak of";
  }
  const bool biases = model.biases && model.architecture == Architecture::llama;
  EXPECT_EQ(replicated, model.architecture == Architecture::gpt ? 6 * 4 + 3 : biases ? 6 * 4 + 1 : 2 * 4 + 1);
}

TEST(AcceptanceB29, GradientsOfReplicasAreSums) {
  for (const ModelConfig& model : {tiny_dense(), adorned(), tiny_gpt()})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const StepLog one = train_steps(ParallelRun(model, dtype, {}, k_adamw).training, k_steps, unequal);
      for (const int tensor : {2, 4})
        for (const Residual residual : {Residual::replicated, Residual::split})
          expect_sums(model, dtype, {tensor, residual}, one);
    }
}

}  // namespace
}  // namespace tessera::acceptance
