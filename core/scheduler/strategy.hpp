// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the interface of strategies: what a way of parallel training adds to the passes.
// Used: modules/strategy/*, the passes that ask.
// Must not know: other strategies, how passes work.
#pragma once

#include <string_view>
#include <vector>

#include "core/scheduler/placer.hpp"

namespace tessera {

/// Which dims of an input are the sequence and the batch; -1: has none.
struct TokenDims {
  int sequence = -1;
  int batch = -1;
};

/// What happens to a bucket's gradient when the last micro-batch has added to it.
enum class GradientRest : std::uint8_t {
  partial,     ///< nothing: nobody asked
  replicated,  ///< all-reduced over the axes over which it is partial
};

/// Every hook is optional; strategies are asked in the order in which the run file names them.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// Cuts axes of the mesh into factors where the strategy needs a part of one: "tp" of 4 into "tp.replica" of 2 and
  /// "tp.head" of 2, both with the stem "tp", fastest first.
  virtual void factor(std::vector<Axis>&) const {}

  /// Changes the logical graph: adds, freezes or replaces parameters and ops.
  virtual void transform(Graph&) const {}

  /// Layout in which a parameter is read. `layout` is what strategies before this one made of it.
  virtual void place_parameter(const Parameter&, const Shape&, const Mesh&, Layout&) const {}

  virtual void place_input(std::string_view, const TokenDims&, const Mesh&, Layout&) const {}

  /// Layout of a marked value; `layout` is what its op gave. A mark that nobody answers stays as it is.
  virtual void place_value(Mark, const Type&, const Mesh&, Layout&) const {}

  /// May replace a placed node by several: emits them through the placer and fills `out` with the values that take the
  /// place of the node's outputs. They may have other layouts than these: whoever read an output, or a conversion of
  /// it, gets the new value in the layout that it read. False: leaves the node alone.
  virtual bool expand(const Node&, Placer&, std::vector<Value>&) const { return false; }

  /// The order in which the tokens of a sequence lie, as runs of places; empty: as they come. They travel with their
  /// positions, documents, targets and masks, so nobody but who fills the inputs knows.
  virtual std::vector<Range> sequence_order(std::int64_t, const Mesh&) const { return {}; }

  /// Where gradients rest, and how large the buckets are that they rest in (bytes; 0: no opinion).
  virtual GradientRest gradient_rest() const { return GradientRest::partial; }
  virtual std::int64_t bucket_bytes() const { return 0; }
};

}  // namespace tessera
