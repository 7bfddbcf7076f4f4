// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what the plans of a resolved run are made from: mesh, device, kernels, strategies, schedule, optimizer.
// Used: the setup of an engine, the verb `plan`.
// Must not know: other ranks, data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/config/settings.hpp"
#include "core/host/host_device.hpp"
#include "core/module/registry.hpp"
#include "core/train/step_plans.hpp"

namespace tessera::apps {

class EngineParts {
 public:
  /// For a world of so many ranks, with a device of so many threads and, where there is any, memory that ranks share.
  /// Throws Error{configuration}.
  EngineParts(const Settings& settings, const Registry& registry, const KernelChoices& kernels, int world, int threads,
              HostMemory* memory);

  const Mesh& mesh() const { return mesh_; }
  HostDevice& device() { return device_; }
  const HostDevice& device() const { return device_; }
  const KernelTable& kernels() const { return kernels_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  std::vector<const Strategy*> strategies() const;
  PipelineArgs pipeline() const;
  DType dtype() const;
  double clip() const;
  std::int64_t micro_batch() const;

 private:
  const Settings& settings_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
  Mesh mesh_;
  HostDevice device_;
  KernelTable kernels_;
  std::unique_ptr<Schedule> schedule_;  ///< of runs with a pipeline
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace tessera::apps
