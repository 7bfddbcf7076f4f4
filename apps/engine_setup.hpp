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

/// The mesh of a run: tp, cp, dp, pp, fastest first; dp is what remains of the world. Throws Error{configuration} that
/// names what does not fit.
Mesh make_mesh(const Settings& settings, int world);

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
  Mesh mesh_;
  HostDevice device_;
  KernelTable kernels_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tessera::apps
