// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  stochastic gradient descent, with momentum where asked for; decay is decoupled.
// Used: the module's entry, tests (with lr 1 a step shows the gradient).
// Must not know: buckets, clipping, learning-rate schedules.
#pragma once

#include <span>

#include "core/device/kernel.hpp"
#include "core/scheduler/optimizer.hpp"

namespace tessera::sgd {

struct Options {
  double momentum = 0, weight_decay = 0;
};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const Options& options) : options_(options) {}
  /// One state with momentum, none without.
  std::vector<OptimizerState> states() const override;
  void update(const UpdateArgs& args, Placer& placer) const override;

 private:
  Options options_;
};

/// Kernels of the host for the ops "sgd" and "sgd_momentum".
std::span<const KernelEntry> kernels();

}  // namespace tessera::sgd
