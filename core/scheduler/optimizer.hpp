// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the interface of optimizers: how weights change, as ops over (weights, gradient, state).
// Used: modules/optimizer/*, the pass that builds the update.
// Must not know: buckets, shards, learning-rate schedules, clipping.
#pragma once

#include <string>
#include <vector>

#include "core/scheduler/placer.hpp"

namespace tessera {

/// One state per weight, in the accumulation type, zero at the start.
struct OptimizerState {
  std::string name;  ///< "moment1": its dataset in the checkpoint
};

/// What an optimizer sees of one bucket. All values have the same shape and layout; the update is elementwise.
struct UpdateArgs {
  Value weights, gradient;
  std::vector<Value> states;
  Value decision;  ///< f64 [3]: pre-clip norm, factor for the gradient, 1 when the step is skipped
  bool decays = true;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  virtual std::vector<OptimizerState> states() const = 0;

  /// Emits the ops that update weights and states in place (Op::mutates). Kernels must do nothing when the decision
  /// says skip, and must multiply the gradient by the factor. The learning rate and the step are in StepInputs.
  virtual void update(const UpdateArgs& args, Placer& placer) const = 0;
};

}  // namespace tessera
