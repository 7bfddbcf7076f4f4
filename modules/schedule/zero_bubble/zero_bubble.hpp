// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  ZB-H1 (Qi et al. 2023): gradients of weights are passes of their own, later than those of activations.
// Used: the module's entry, tests.
// Must not know: the other schedules; what a weight pass holds.
#pragma once

#include "core/scheduler/schedule.hpp"

namespace tessera {

/// One chunk per stage; others are refused. For F = B = W and m ≥ p the bubble is (p − 1) ÷ (3m + p − 1). Stage s keeps
/// min(m, p − s) micro-batches from forward to backward, as 1F1B does, and min(m, p) up to the weight pass.
class ZeroBubble final : public Schedule {
 public:
  std::vector<int> placement(int stages, int chunks) const override;
  bool splits_backward() const override { return true; }
  std::vector<std::vector<Turn>> turns(const PipelineShape& shape) const override;
};

}  // namespace tessera
