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
  const blocks::Embedded embedded = blocks::embedding(context);
  return {blocks::layers(context, embedded.x, feed_forward), embedded.table};
}

}  // namespace tessera
