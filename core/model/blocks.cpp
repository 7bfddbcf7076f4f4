// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/model/blocks.hpp"

#include <cmath>

namespace tessera::blocks {
namespace {

ParameterRole bias_role(ParameterRole matrix) {
  switch (matrix) {
    case ParameterRole::row:
      return ParameterRole::row_bias;
    case ParameterRole::kv_column:
      return ParameterRole::kv_column_bias;
    default:
      return ParameterRole::column_bias;
  }
}

/// Heads of one of q, k, v: projected, and where the model has it normalised and rotated.
Value heads(BlockContext& context, Value x, const std::string& field, std::int64_t count, ParameterRole role) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  const bool is_value = field == "attention.v";
  Value y = matrix(context, x, field, count * config.head_dim(), role);
  y = b.split_heads(y, config.head_dim());
  if (config.qk_norm && !is_value) {
    const Value gain =
        b.parameter({field + "_norm.gain", {config.head_dim()}, ParameterRole::head_gain, Initial::ones});
    y = b.rms_norm(y, gain, config.norm_epsilon);
  }
  if (config.architecture == Architecture::llama && !is_value)
    y = b.rope(y, context.inputs.position, config.rope_theta);
  return b.mark(y, role == ParameterRole::column ? Mark::query : Mark::key_value);
}

}  // namespace

double residual_deviation(const ModelConfig& config) {
  return k_deviation / std::sqrt(2.0 * static_cast<double>(config.layers));
}

Value matrix(BlockContext& context, Value x, const std::string& field, std::int64_t out, ParameterRole role,
             double deviation) {
  Builder& b = context.builder;
  const Shape& shape = b.type(x).shape;
  Value y = b.linear(x, b.parameter({field, {out, shape[shape.rank() - 1]}, role, Initial::normal, deviation}));
  if (role == ParameterRole::row) b.mark(y, Mark::residual);
  if (context.config.biases) y = b.add_bias(y, b.parameter({field + ".bias", {out}, bias_role(role), Initial::zeros}));
  return y;
}

Value attention(BlockContext& context, Value x) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  const Value q = heads(context, x, "attention.q", config.heads, ParameterRole::column);
  const Value k = heads(context, x, "attention.k", config.key_heads(), ParameterRole::kv_column);
  const Value v = heads(context, x, "attention.v", config.key_heads(), ParameterRole::kv_column);
  const Value out = b.attention(q, k, v, context.inputs.position, context.inputs.document).out;
  return matrix(context, b.merge_heads(b.mark(out, Mark::attention_output)), "attention.o", config.hidden,
                ParameterRole::row, residual_deviation(config));
}

Value dropout(BlockContext& context, Value x, std::string_view site) {
  if (context.purpose != ModelPurpose::train) return x;
  return context.builder.dropout(x, context.inputs.index, context.inputs.sample, site, context.config.dropout);
}

Value norm(BlockContext& context, Value x, const std::string& field) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  const Value gain = b.parameter({field + ".gain", {config.hidden}, ParameterRole::gain, Initial::ones});
  if (config.architecture == Architecture::llama) return b.rms_norm(x, gain, config.norm_epsilon);
  const Value bias = b.parameter({field + ".bias", {config.hidden}, ParameterRole::gain, Initial::zeros});
  return b.layer_norm(x, gain, bias, config.norm_epsilon);
}

Embedded embedding(BlockContext& context) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  b.enter(k_embedding);
  const Value table =
      b.parameter({"embedding", {config.vocab, config.hidden}, ParameterRole::table, Initial::normal, k_deviation});
  return {b.mark(b.embed(table, context.inputs.ids), Mark::residual), table};
}

Value layers(BlockContext& context, Value x, Value (*feed_forward)(BlockContext&, Value)) {
  Builder& b = context.builder;
  x = dropout(context, x, "embedding");
  for (int layer = 0; layer < static_cast<int>(context.config.layers); ++layer) {
    b.enter(layer);
    Value y = attention(context, b.mark(norm(context, x, "norm1"), Mark::block_input));
    x = b.add(x, dropout(context, y, "attention"));
    const bool sparse = context.config.has_experts(layer);
    const Value input = b.mark(norm(context, x, "norm2"), sparse ? Mark::expert_input : Mark::block_input);
    y = sparse ? experts(context, input) : feed_forward(context, input);
    x = b.add(x, dropout(context, y, "feed_forward"));
  }
  return x;
}

void head(BlockContext& context, Value x, Value table, std::int64_t pieces, ModelGraph& model) {
  Builder& b = context.builder;
  const ModelConfig& config = context.config;
  b.enter(k_head);
  x = b.mark(norm(context, x, "norm"), Mark::block_input);
  if (!config.tied)
    table = b.parameter({"head", {config.vocab, config.hidden}, ParameterRole::table, Initial::normal, k_deviation});
  if (context.purpose == ModelPurpose::generate) {
    model.logits = b.linear(x, table);
    return;
  }
  const auto x_pieces = b.split_tokens(x, pieces);
  const auto target_pieces = b.split_tokens(context.inputs.target, pieces, x);
  const auto mask_pieces = b.split_tokens(context.inputs.mask, pieces, x);
  for (std::size_t i = 0; i < x_pieces.size(); ++i) {
    b.enter(k_head, static_cast<int>(i));
    const Value loss = b.cross_entropy(b.linear(x_pieces[i], table), target_pieces[i], mask_pieces[i]);
    model.losses.push_back(loss);
  }
}

}  // namespace tessera::blocks
