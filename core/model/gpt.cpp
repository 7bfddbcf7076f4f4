// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// GPT-2 (Radford et al. 2019): LayerNorm before each block, learned positions, GELU, a bias on every matrix.
#include "core/model/architectures.hpp"

namespace tessera {
namespace {

Value feed_forward(blocks::BlockContext& context, Value x) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  const Value up = blocks::matrix(context, x, "feed_forward.up", config.ffn, ParameterRole::column);
  return blocks::matrix(context, b.gelu(up, attributes::GeluForm::tanh), "feed_forward.down", config.hidden,
                        ParameterRole::row, blocks::residual_deviation(config));
}

}  // namespace

blocks::Embedded gpt_layers(blocks::BlockContext& context) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  const blocks::Embedded embedded = blocks::embedding(context);
  const Value positions = b.parameter({"position_embedding",
                                       {config.sequence, config.hidden},
                                       ParameterRole::position_table,
                                       Initial::normal,
                                       blocks::k_deviation});
  const Value x = b.add(embedded.x, b.mark(b.embed(positions, context.inputs.position), Mark::residual));
  return {blocks::layers(context, x, feed_forward), embedded.table};
}

}  // namespace tessera
