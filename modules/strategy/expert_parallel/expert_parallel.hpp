// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  expert parallelism: experts are spread over the fastest ranks of tp, cp and dp (Lepikhin et al. 2020).
// Used: the module's entry, tests.
// Must not know: how rows travel; which strategies own the axes.
#pragma once

#include "core/scheduler/strategy.hpp"

namespace tessera {

class ExpertParallel final : public Strategy {
 public:
  explicit ExpertParallel(int ranks) : ranks_(ranks) {}

  /// Marks axes as spreading experts, fastest first, until their sizes make up the ranks; the last one is cut in two
  /// where only a part of it is needed. Throws Error{configuration} with the nearest sizes when that cannot come out.
  void factor(std::vector<Axis>& axes) const override;

  /// Experts are whole; ranks beyond their number hold none.
  void place_parameter(const Parameter& parameter, const Shape& shape, const Mesh& mesh, Layout& layout) const override;

  GradientRest gradient_rest() const override { return GradientRest::replicated; }

 private:
  int ranks_;
};

}  // namespace tessera
