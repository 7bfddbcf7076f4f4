// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Llama (Touvron et al. 2023): RMSNorm before each block, rotary positions, SwiGLU, grouped key/value heads.
#include "core/model/architectures.hpp"

namespace tessera {
namespace {

Value feed_forward(blocks::BlockContext& context, Value x) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  const Value gate = blocks::matrix(context, x, "feed_forward.gate", config.ffn, ParameterRole::column);
  const Value up = blocks::matrix(context, x, "feed_forward.up", config.ffn, ParameterRole::column);
  return blocks::matrix(context, b.swiglu(gate, up), "feed_forward.down", config.hidden, ParameterRole::row,
                        blocks::residual_deviation(config));
}

}  // namespace

blocks::Embedded llama_layers(blocks::BlockContext& context) {
  Builder& b = context.builder;
  blocks::Embedded embedded = blocks::embedding(context);
  Value x = blocks::dropout(context, embedded.x, "embedding");
  for (int layer = 0; layer < static_cast<int>(context.config.layers); ++layer) {
    b.enter(layer);
    Value y = blocks::attention(context, b.mark(blocks::norm(context, x, "norm1"), Mark::block_input));
    x = b.add(x, blocks::dropout(context, y, "attention"));
    y = feed_forward(context, b.mark(blocks::norm(context, x, "norm2"), Mark::block_input));
    x = b.add(x, blocks::dropout(context, y, "feed_forward"));
  }
  return {x, embedded.table};
}

}  // namespace tessera
