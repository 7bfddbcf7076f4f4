// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  values and the nodes that make them, append-only; the thing that passes read and write.
// Used: the builder (logical graph), the passes (placed graph), the planner.
// Must not know: addresses, kernels, communicators.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/graph/op.hpp"

namespace tessera {

/// Index of a value in its graph; -1 is "none" (an absent optional input, an unread output).
struct Value {
  std::int32_t id = -1;
  explicit operator bool() const { return id >= 0; }
  friend bool operator==(Value, Value) = default;
  friend auto operator<=>(Value, Value) = default;
};

enum class ValueRole : std::uint8_t {
  activation,
  input,      ///< what a micro-batch brings
  parameter,  ///< a weight, in the layout in which it is read
  state,      ///< lives from step to step outside the model: buckets, optimizer state, scalars of the step
};

/// Places in the model where strategies may force a layout.
enum class Mark : std::uint8_t {
  none,
  residual,          ///< the residual stream: what embedding and the blocks' last matrices add to
  block_input,       ///< the normalised input of attention, feed-forward and head
  query,             ///< rotated queries, as attention reads them
  key_value,         ///< rotated keys, and values
  attention_output,  ///< per head
  expert_input,      ///< the normalised input of a layer of experts
  statistic,         ///< a maximum over the vocabulary: saved in its reduced form
};

/// What a parameter is to the model; strategies place by role, never by name.
enum class ParameterRole : std::uint8_t {
  table,           ///< [vocabulary, hidden]
  position_table,  ///< [positions, hidden]
  column,          ///< [out, in]: its outputs are features of a block (gate, up, queries)
  kv_column,       ///< [out, in]: its outputs are key or value heads
  row,             ///< [out, in]: its inputs are features of a block
  column_bias,     ///< [out] beside a column matrix
  kv_column_bias,
  row_bias,     ///< [out], added after the sum over the block's features
  router,       ///< [experts, hidden]
  router_bias,  ///< [experts], steers the choice; its gradient is what each expert got, and no optimizer moves it
  expert,       ///< [experts, out, in]
  gain,         ///< [hidden], of a norm, or its bias
  head_gain,    ///< [head dim], of a q or k norm
};

/// How a parameter starts.
enum class Initial : std::uint8_t { normal, ones, zeros };

struct Parameter {
  std::string field;  ///< name without the layer: "attention.q"; its checkpoint dataset
  int layer = -1;     ///< index in the stack of its field; -1: not in a layer
  ParameterRole role = ParameterRole::column;
  Initial initial = Initial::normal;
  double deviation = 0;  ///< of a normal start
  bool decays = true;    ///< weight decay applies
  double rate = 0;       ///< of a router's bias: how far a step moves it
  Value value;

  /// "layers.3.attention.q", or the field.
  std::string name() const;
};

/// Which part of the model a node belongs to: k_embedding, a layer 0 … n-1, or k_head.
inline constexpr int k_embedding = -1;
inline constexpr int k_head = 1 << 20;

/// Which part of a step a node belongs to.
enum class Phase : std::uint8_t {
  count,  ///< valid tokens of a micro-batch, before the first forward
  seed,   ///< what follows from their sum, once
  forward,
  backward,
  update,  ///< from the reduction of gradients to the new weights
};

/// Where in a step a node belongs.
struct NodeContext {
  Phase phase = Phase::forward;
  int layer = k_embedding;
  int chunk = 0;        ///< of the pipeline; means nothing outside forward and backward
  int head_chunk = -1;  ///< piece of tokens in the head whose backward follows its forward at once; -1: none
  Value repeat = {};    ///< i32 scalar: the nodes that name it run that many times, as a body; none: once
};

struct Node : NodeContext {
  const Op* op = nullptr;
  std::vector<Value> in, out;
  Attributes attributes;
};

struct ValueInfo {
  Type type;
  Layout layout;  ///< in a logical graph: replicated
  Home home;      ///< of parameters and what is made from them in the update: the stages that hold it
  ValueRole role = ValueRole::activation;
  Mark mark = Mark::none;
  std::string name;
  std::int32_t producer = -1;   ///< node
  Value source;                 ///< the value that this one is another layout of
  Value counts = {};            ///< i32 by the first two dims: how many indices of dim 2 are used, the first ones; what
                                ///< the others hold means nothing. None: all are used
  bool differentiable = false;  ///< a gradient flows through it
  std::int32_t accumulator = -1;  ///< index in Graph::accumulators that this value is added into; -1: none
};

/// What contributions of all micro-batches of a step are added into.
struct Accumulator {
  std::int32_t parameter = -1;  ///< whose gradient it is; -1: a scalar (loss, count)
  Type type;
  Layout layout;  ///< the parameter's splits, and the axes over which the sum is still partial
  Value total;    ///< the sum as a state value; none for gradients, which lie in buckets
};

struct Graph {
  std::deque<ValueInfo> values;
  std::deque<Node> nodes;
  std::vector<Parameter> parameters;
  std::vector<Value> inputs;
  std::vector<Accumulator> accumulators;

  ValueInfo& operator[](Value v) { return values[static_cast<std::size_t>(v.id)]; }
  const ValueInfo& operator[](Value v) const { return values[static_cast<std::size_t>(v.id)]; }

  Value add_value(ValueInfo info);
  /// Appends the node and makes it the producer of its outputs.
  Node& add_node(Node node);

  /// By parameter, the accumulator of its gradient; -1: it has none.
  std::vector<std::int32_t> gradient_accumulators() const;

  /// The value before any conversion.
  Value origin(Value v) const;
  const Node* producer(Value v) const;
};

}  // namespace tessera
