// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  context parallelism by exchange (Jacobs et al. 2023, DeepSpeed Ulysses): tokens are split over `cp`; for
//       attention every rank gets the whole sequence of some heads instead.
// Used: the module's entry, tests.
// Must not know: attention, collectives.
#pragma once

#include "core/scheduler/strategy.hpp"

namespace tessera {

class ContextUlysses final : public Strategy {
 public:
  /// Splits the sequence dim of every input.
  void place_input(std::string_view name, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override;

  /// Queries, keys and values: heads split by what splits them already and then by `cp`, the sequence whole of `cp`;
  /// the output of attention back. Key/value heads that are too few stay as they are: attention gathers them. Throws
  /// Error{configuration} when the query heads cannot be shared evenly.
  void place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const override;
};

}  // namespace tessera
