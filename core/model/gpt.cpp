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
  blocks::Embedded embedded = blocks::embedding(context);
  const Value positions = b.parameter({"position_embedding",
                                       {config.sequence, config.hidden},
                                       ParameterRole::position_table,
                                       Initial::normal,
                                       blocks::k_deviation});
  Value x = b.add(embedded.x, b.mark(b.embed(positions, context.inputs.position), Mark::residual));
  x = blocks::dropout(context, x, "embedding");
  for (int layer = 0; layer < static_cast<int>(config.layers); ++layer) {
    b.enter(layer);
    Value y = blocks::attention(context, b.mark(blocks::norm(context, x, "norm1"), Mark::block_input));
    x = b.add(x, blocks::dropout(context, y, "attention"));
    y = feed_forward(context, b.mark(blocks::norm(context, x, "norm2"), Mark::block_input));
    x = b.add(x, blocks::dropout(context, y, "feed_forward"));
  }
  return {x, embedded.table};
}

}  // namespace tessera
