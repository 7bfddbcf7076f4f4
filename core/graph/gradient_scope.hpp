// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a gradient rule sees of its node. It emits ordinary ops and adds contributions.
// Used: gradient rules of ops (core/graph/ops), implemented by the pass `differentiate`.
// Must not know: layouts, collectives, micro-batches.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "core/graph/graph.hpp"

namespace tessera {

class GradientScope {
 public:
  virtual ~GradientScope() = default;

  /// Input i, in the layout in which forward read it (re-made where it was not kept).
  virtual Value input(int i) = 0;
  /// Output i of the node.
  virtual Value output(int i) = 0;
  /// The gradient of output i; none when nothing flowed there.
  virtual Value gradient(int i = 0) = 0;
  virtual const Attributes& attributes() const = 0;
  virtual Type type(Value v) const = 0;

  /// Whether the gradient of input i is asked for.
  virtual bool wanted(int i) const = 0;

  /// Emits a backward op; all its outputs.
  virtual std::vector<Value> emit_all(const Op& op, std::span<const Value> in, const Attributes& attributes = {}) = 0;
  std::vector<Value> emit_all(const Op& op, std::initializer_list<Value> in, const Attributes& attributes = {}) {
    return emit_all(op, std::span(in.begin(), in.size()), attributes);
  }
  Value emit(const Op& op, std::initializer_list<Value> in, const Attributes& attributes = {}) {
    return emit_all(op, in, attributes)[0];
  }
  /// The same for the gradient of input `i`, a weight: the first output takes that input's layout where it can.
  virtual Value emit_like(int i, const Op& op, std::initializer_list<Value> in, const Attributes& attributes = {}) = 0;

  /// Adds a contribution to the gradient of input i. Contributions of none are ignored.
  virtual void add(int i, Value contribution) = 0;
};

}  // namespace tessera
