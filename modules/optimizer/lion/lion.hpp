// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  Lion: the sign of an interpolated momentum (Chen et al. 2023), with decoupled decay.
// Used: the module's entry, tests.
// Must not know: buckets, clipping, learning-rate schedules.
#pragma once

#include <span>

#include "core/device/kernel.hpp"
#include "core/scheduler/optimizer.hpp"

namespace tessera::lion {

struct Options {
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};

class Lion final : public Optimizer {
 public:
  explicit Lion(const Options& options) : options_(options) {}
  std::vector<OptimizerState> states() const override;
  void update(const UpdateArgs& args, Placer& placer) const override;

 private:
  Options options_;
};

/// Kernels of the host for the op "lion".
std::span<const KernelEntry> kernels();

}  // namespace tessera::lion
