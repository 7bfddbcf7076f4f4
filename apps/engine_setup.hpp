// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  an engine and what it is made of (mesh, device, kernels, strategies, optimizer), built from a resolved run.
// Used: the setup of a training run, benchmarks.
// Must not know: data, the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "apps/ranks.hpp"
#include "apps/run.hpp"
#include "core/host/host_device.hpp"
#include "core/train/engine.hpp"

namespace tessera::apps {

class EngineSetup {
 public:
  /// All but the engine. Communicates nothing; throws Error{configuration}.
  EngineSetup(Ranks& ranks, const Run& run);

  /// Makes the engine: compiles, allocates nothing large. Throws as Engine does.
  void compile(const ModelConfig& model, std::int64_t global_batch, const ExecutorOptions& executor);

  const Mesh& mesh() const { return mesh_; }
  const HostDevice& device() const { return device_; }
  Engine& engine() const { return *engine_; }

 private:
  const Settings& settings_;
  Communicator& world_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
  Mesh mesh_;
  HostDevice device_;
  KernelTable kernels_;
  std::unique_ptr<Schedule> schedule_;  ///< of runs with a pipeline
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tessera::apps
