// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/builder.hpp"

#include <cmath>

#include "core/base/counter_rng.hpp"
#include "core/graph/label_rule.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/bias.hpp"
#include "core/graph/ops/cross_entropy.hpp"
#include "core/graph/ops/dropout.hpp"
#include "core/graph/ops/embed.hpp"
#include "core/graph/ops/gelu.hpp"
#include "core/graph/ops/heads.hpp"
#include "core/graph/ops/jitter.hpp"
#include "core/graph/ops/layer_norm.hpp"
#include "core/graph/ops/linear.hpp"
#include "core/graph/ops/masked_sum.hpp"
#include "core/graph/ops/rms_norm.hpp"
#include "core/graph/ops/rope.hpp"
#include "core/graph/ops/swiglu.hpp"
#include "core/graph/ops/tokens.hpp"

namespace tessera {

Value Builder::input(std::string name, const Type& type) {
  ValueInfo info;
  info.type = type;
  info.role = ValueRole::input;
  info.name = std::move(name);
  graph_.inputs.push_back(graph_.add_value(std::move(info)));
  return graph_.inputs.back();
}

Value Builder::parameter(const ParameterSpec& spec) {
  Parameter parameter;
  parameter.field = spec.field;
  parameter.layer = context_.layer >= 0 && context_.layer < k_head ? context_.layer : -1;
  parameter.role = spec.role;
  parameter.initial = spec.initial;
  parameter.deviation = spec.deviation;
  parameter.decays = spec.shape.rank() > 1;
  parameter.rate = spec.rate;
  ValueInfo info;
  info.type = {spec.shape, spec.role == ParameterRole::router_bias ? accumulation_of(dtype_) : dtype_};
  info.role = ValueRole::parameter;
  info.name = parameter.name();
  info.differentiable = true;
  parameter.value = graph_.add_value(std::move(info));
  graph_.parameters.push_back(parameter);
  return parameter.value;
}

Value Builder::mark(Value v, Mark mark) {
  graph_[v].mark = mark;
  return v;
}

std::vector<Value> Builder::emit(const Op& op, std::vector<Value> in, const Attributes& attributes) {
  std::vector<Type> types;
  for (Value v : in) types.push_back(v ? graph_[v].type : k_absent);
  Node node{context_, &op, std::move(in), {}, attributes};
  for (const Type& type : type_of(op, {types, attributes})) {
    ValueInfo info;
    info.type = type;
    info.name = op.name;
    node.out.push_back(graph_.add_value(std::move(info)));
  }
  return graph_.add_node(std::move(node)).out;
}

Value Builder::embed(Value table, Value ids) {
  return one(ops::embed, {table, ids});
}
Value Builder::linear(Value x, Value weight) {
  return one(ops::linear, {x, weight});
}
Value Builder::add_bias(Value x, Value bias) {
  return one(ops::add_bias, {x, bias});
}
Value Builder::add(Value x, Value y) {
  return one(ops::add, {x, y});
}

Value Builder::rms_norm(Value x, Value gain, double epsilon) {
  return one(ops::rms_norm, {x, gain}, Attributes::of(attributes::Norm{epsilon}));
}

Value Builder::layer_norm(Value x, Value gain, Value bias, double epsilon) {
  return one(ops::layer_norm, {x, gain, bias}, Attributes::of(attributes::Norm{epsilon}));
}

Value Builder::rope(Value x, Value position, double theta) {
  return one(ops::rope, {x, position}, Attributes::of(attributes::Rope{theta, 1}));
}

Value Builder::split_heads(Value x, std::int64_t head_dim) {
  return one(ops::split_heads, {x}, Attributes::of(attributes::Heads{head_dim}));
}

Value Builder::merge_heads(Value x) {
  return one(ops::merge_heads, {x}, Attributes::of(attributes::Heads{type(x).shape[3]}));
}

AttentionOut Builder::attention(Value q, Value k, Value v, Value position, Value document) {
  const Shape& queries = type(q).shape;
  const attributes::Attention record{1 / std::sqrt(static_cast<double>(queries[3])), queries[2] / type(k).shape[2]};
  const auto out = emit(ops::attention, {q, k, v, position, position, document, document}, Attributes::of(record));
  return {out[0], out[1]};
}

Value Builder::swiglu(Value gate, Value up) {
  return one(ops::swiglu, {gate, up});
}

Value Builder::gelu(Value x, attributes::GeluForm form) {
  return one(ops::gelu, {x}, Attributes::of(attributes::Gelu{form}));
}

std::uint64_t Builder::place(std::string_view site) const {
  return mix(hash_name(site) + static_cast<std::uint64_t>(context_.layer + 1));
}

Value Builder::dropout(Value x, Value index, Value sample, std::string_view site, double probability) {
  if (probability == 0) return x;
  const Shape& shape = type(x).shape;
  return one(ops::dropout, {x, index, sample},
             Attributes::of(attributes::Dropout{place(site), probability, shape[shape.rank() - 1]}));
}

Value Builder::jitter(Value x, Value index, Value sample, std::string_view site, double spread) {
  if (spread == 0) return x;
  const Shape& shape = type(x).shape;
  return one(ops::jitter, {x, index, sample},
             Attributes::of(attributes::Jitter{place(site), spread, shape[shape.rank() - 1]}));
}

std::vector<Value> Builder::split_tokens(Value x, std::int64_t pieces, Value guide) {
  const Attributes record = Attributes::of(attributes::Pieces{pieces});
  return guide ? emit(ops::split_tokens, {x, guide}, record) : emit(ops::split_tokens, {x}, record);
}

Value Builder::cross_entropy(Value logits, Value target, Value token_mask) {
  const Value shift = mark(one(ops::row_max, {logits}), Mark::statistic);
  const auto sums = emit(ops::softmax_sums, {logits, shift, target});
  const Value loss = one(ops::token_loss, {sums[1], shift, sums[2]});
  return one(ops::masked_sum, {loss, token_mask});
}

}  // namespace tessera
