// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  context parallelism in its plainest form: tokens are split over `cp`, attention gathers keys and values.
// Used: the module's entry, tests.
// Must not know: attention, collectives, other axes.
#pragma once

#include "core/scheduler/sequence_order.hpp"
#include "core/scheduler/strategy.hpp"

namespace tessera {

class ContextAllgather final : public Strategy {
 public:
  explicit ContextAllgather(Zigzag zigzag = Zigzag::where_possible) : zigzag_(zigzag) {}

  /// Splits the sequence dim of every input. Attention needs keys and values whole, so they are gathered in forward and
  /// again in backward, and their gradients are reduced and scattered: all of it follows from the rules of ops.
  void place_input(std::string_view name, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override;

  /// zigzag_order() over the ranks of `cp`.
  std::vector<Range> sequence_order(std::int64_t sequence, const Mesh& mesh) const override;

 private:
  Zigzag zigzag_;
};

}  // namespace tessera
