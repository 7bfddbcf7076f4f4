// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  context parallelism as a ring (Liu et al. 2023, Ring Attention): tokens are split over `cp`; keys and values
//       travel from rank to rank while attention works on the block at hand.
// Used: the module's entry, tests.
// Must not know: kernels, how a shift is communicated, other axes.
#pragma once

#include "core/scheduler/sequence_order.hpp"
#include "core/scheduler/strategy.hpp"

namespace tessera {

class ContextRing final : public Strategy {
 public:
  explicit ContextRing(Zigzag zigzag = Zigzag::where_possible) : zigzag_(zigzag) {}

  /// Splits the sequence dim of every input.
  void place_input(std::string_view name, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override;

  /// Changes nothing. Throws Error{configuration} when the sequence cannot be cut into equal blocks.
  void place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const override;

  /// Attention and its gradient become one turn per rank of the ring. Forward, each block of keys is attended to and
  /// merged by log-sum-exp. Backward, the final output and log-sum-exp serve every block, and the gradients of keys and
  /// values travel on with their block until it is home. The next block is sent for before the one at hand is used.
  bool expand(const Node& node, Placer& placer, std::vector<Value>& out) const override;

  /// zigzag_order() over the ranks of `cp`.
  std::vector<Range> sequence_order(std::int64_t sequence, const Mesh& mesh) const override;

 private:
  Zigzag zigzag_;
};

}  // namespace tessera
