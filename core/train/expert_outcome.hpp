// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a step did in layers with experts: who got how much, what was dropped, the auxiliary losses.
// Used: the engine (reads it from the step's report), records of steps.
// Must not know: how the numbers were summed, where they are shown.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/model.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera {

/// A choice is a token that an expert of its router's choice is to see: tokens · experts_per_token in a layer, tokens
/// without a target among them.
struct ExpertLayerOutcome {
  int layer = 0;
  std::vector<std::int64_t> load;  ///< choices of each expert over the global batch, before any is dropped
  std::int64_t dropped = 0;        ///< choices beyond the capacity of their rank
  double balance_loss = 0;         ///< mean over sequences, without coefficient, 1 where even; 0 where not computed
  double z_loss = 0;               ///< the same
  friend bool operator==(const ExpertLayerOutcome&, const ExpertLayerOutcome&) = default;
};

/// Largest load ÷ mean load: from 1 to the number of experts; 0 without tokens.
double imbalance(const ExpertLayerOutcome& layer);
/// Of all choices of the layer.
double dropped_share(const ExpertLayerOutcome& layer);

/// A step in short; all 0 without experts.
struct ExpertOutcome {
  double auxiliary_loss = 0;  ///< Σ over layers as it was added to the loss: with its coefficient, without a loss scale
  double z_loss = 0;          ///< the same
  double imbalance = 0;       ///< of the worst layer
  double dropped_share = 0;   ///< of the choices of all layers
  friend bool operator==(const ExpertOutcome&, const ExpertOutcome&) = default;
};

/// The report of a step: sums over the global batch.
struct ExpertStepReport {
  std::span<const ExpertPlaces> layers;
  const double* values = nullptr;
  double sequences = 1;  ///< of the global batch
};

/// Allocates nothing.
ExpertOutcome expert_outcome(const ExpertStepReport& report, const ExpertConfig& config);
std::vector<ExpertLayerOutcome> expert_layers(const ExpertStepReport& report);

}  // namespace tessera
