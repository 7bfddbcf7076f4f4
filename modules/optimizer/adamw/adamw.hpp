// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  AdamW: Adam with decoupled weight decay (Loshchilov, Hutter 2019), with bias correction.
// Used: the module's entry, tests.
// Must not know: buckets, clipping, learning-rate schedules.
#pragma once

#include <span>

#include "core/device/kernel.hpp"
#include "core/scheduler/optimizer.hpp"

namespace tessera::adamw {

struct Options {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.1;
};

class AdamW final : public Optimizer {
 public:
  explicit AdamW(const Options& options) : options_(options) {}
  std::vector<OptimizerState> states() const override;
  void update(const UpdateArgs& args, Placer& placer) const override;

 private:
  Options options_;
};

/// Kernels of the host for the op "adamw".
std::span<const KernelEntry> kernels();

}  // namespace tessera::adamw
