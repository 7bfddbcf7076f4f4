// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  writing a model: one thin method per op, appended to a logical graph.
// Used: core/model, modules that bring models or transform them.
// Must not know: ranks, axes, collectives, memory.
#pragma once

#include <string>
#include <vector>

#include "core/base/op_attributes.hpp"
#include "core/graph/graph.hpp"

namespace tessera {

/// What a parameter is, before it has a value in a graph.
struct ParameterSpec {
  std::string field;
  Shape shape;
  ParameterRole role = ParameterRole::column;
  Initial initial = Initial::normal;
  double deviation = 0;
  double rate = 0;
};

/// The output of an attention: per head, and its log-sum-exp.
struct AttentionOut {
  Value out, lse;
};

class Builder {
 public:
  /// All activations and parameters of the graph are of `dtype`.
  Builder(Graph& graph, DType dtype) : graph_(graph), dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  const Type& type(Value v) const { return graph_[v].type; }

  /// Where the next nodes belong: k_embedding, a layer, k_head; and in the head, to which piece of the tokens.
  void enter(int layer, int head_chunk = -1) {
    context_.layer = layer;
    context_.head_chunk = head_chunk;
  }

  /// The next nodes run `times` (i32 scalar) times, until repeat({}): a body whose values nobody reads outside it, but
  /// for what add_into leaves.
  void repeat(Value times) { context_.repeat = times; }

  Value input(std::string name, const Type& type);

  /// A parameter of the current layer (layer 0 … n-1), or of the model. Gains and biases do not decay. Biases of
  /// routers are in the accumulation type.
  Value parameter(const ParameterSpec& spec);

  /// Marks a value as a place where strategies may force a layout.
  Value mark(Value v, Mark mark);

  Value embed(Value table, Value ids);
  Value linear(Value x, Value weight);
  Value add_bias(Value x, Value bias);
  Value add(Value x, Value y);
  Value rms_norm(Value x, Value gain, double epsilon);
  Value layer_norm(Value x, Value gain, Value bias, double epsilon);
  Value rope(Value x, Value position, double theta);
  Value split_heads(Value x, std::int64_t head_dim);
  Value merge_heads(Value x);
  /// q sbnd, k and v tbmd; query head i reads key/value head i ÷ (n ÷ m); scores are scaled by 1 ÷ √d.
  AttentionOut attention(Value q, Value k, Value v, Value position, Value document);
  Value swiglu(Value gate, Value up);
  Value gelu(Value x, attributes::GeluForm form);
  /// `site` names the place; nothing is added when `probability` is 0.
  Value dropout(Value x, Value index, Value sample, std::string_view site, double probability);
  /// Noise at a place of that name; nothing is added when `spread` is 0.
  Value jitter(Value x, Value index, Value sample, std::string_view site, double spread);
  /// Pieces of the sequence. Values whose pieces belong together need a common `guide`, one of them.
  std::vector<Value> split_tokens(Value x, std::int64_t pieces, Value guide = {});
  /// Sum over tokens of mask · cross entropy of the logits; f64 scalar.
  Value cross_entropy(Value logits, Value target, Value mask);

  /// Any op, for modules that bring their own.
  std::vector<Value> emit(const Op& op, std::vector<Value> in, const Attributes& attributes = {});

 private:
  /// Number of a place of randomness: of its name and the current layer.
  std::uint64_t place(std::string_view site) const;

  Value one(const Op& op, std::vector<Value> in, const Attributes& attributes = {}) {
    return emit(op, std::move(in), attributes)[0];
  }

  Graph& graph_;
  DType dtype_;
  NodeContext context_;
};

}  // namespace tessera
