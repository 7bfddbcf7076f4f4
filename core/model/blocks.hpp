// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the blocks that the built-in models share.
// Used: llama.cpp, gpt.cpp.
// Must not know: which model asks.
#pragma once

#include "core/model/model.hpp"

namespace tessera::blocks {

/// What all blocks of a model need.
struct BlockContext {
  Builder& builder;
  const ModelConfig& config;
  const ModelInputs& inputs;
  ModelPurpose purpose;
  std::vector<AuxiliaryLoss>& auxiliary;
  std::vector<GivenGradient>& gradients;
  std::vector<ExpertReport>& reports;
};

/// Standard deviation of initial weights, and of matrices that add to the residual stream: the sum of 2 · layers of
/// those keeps the deviation of one (Radford et al. 2019).
inline constexpr double k_deviation = 0.02;
double residual_deviation(const ModelConfig& config);

/// x wᵀ (+ bias), w = `field` [out, in]. A row matrix is marked as residual before its bias.
Value matrix(BlockContext& context, Value x, const std::string& field, std::int64_t out, ParameterRole role,
             double deviation = k_deviation);

/// Causal attention over the normalised input [s, b, h], with its output matrix; [s, b, h].
Value attention(BlockContext& context, Value x);

/// Dropout of the model's probability, in training.
Value dropout(BlockContext& context, Value x, std::string_view site);

/// Normalised x: RMSNorm or LayerNorm, by architecture; gain `field`.gain, bias `field`.bias.
Value norm(BlockContext& context, Value x, const std::string& field);

/// Token embedding; marked as residual. Returns the table too.
struct Embedded {
  Value x, table;
};
Embedded embedding(BlockContext& context);

/// A layer of experts over the normalised input [s, b, h]; [s, b, h].
Value experts(BlockContext& context, Value x);

/// The layers of a decoder with pre-norm blocks: attention, then `feed_forward`, each added to the residual stream x.
Value layers(BlockContext& context, Value x, Value (*feed_forward)(BlockContext&, Value));

/// Final norm, logits and loss in `pieces` of the sequence; or the logits, for generation.
void head(BlockContext& context, Value x, Value table, std::int64_t pieces, ModelGraph& model);

}  // namespace tessera::blocks
