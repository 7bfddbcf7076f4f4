// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  an engine and what it is made of, built from a resolved run on the ranks that are there.
// Used: the setup of a training run, benchmarks.
// Must not know: data, the loop.
#pragma once

#include <cstdint>
#include <memory>

#include "apps/engine_parts.hpp"
#include "apps/ranks.hpp"
#include "apps/run.hpp"
#include "core/train/engine.hpp"

namespace tessera::apps {

/// Where a rank's engine runs.
struct RankPlace {
  Communicator& world;
  int threads = 1;               ///< of its kernels
  HostMemory* memory = nullptr;  ///< that ranks of a node share; null: the process's own
  CollectiveWorkspace collective_workspace;
};

/// What train.deterministic says of groups on several nodes, for those that are split from the world later.
void order_sums(Ranks& ranks, const Settings& settings);

class EngineSetup {
 public:
  /// All but the engine, on this rank of the world. Communicates nothing; throws Error{configuration}.
  EngineSetup(Ranks& ranks, const Run& run);
  EngineSetup(const Settings& settings, const Registry& registry, const KernelChoices& kernels, const RankPlace& place);

  /// Makes the engine: compiles, allocates nothing large. Throws as Engine does.
  void compile(const ModelConfig& model, std::int64_t global_batch, const ExecutorOptions& executor);

  const Mesh& mesh() const { return parts_.mesh(); }
  const HostDevice& device() const { return parts_.device(); }
  Engine& engine() const { return *engine_; }

 private:
  const Settings& settings_;
  RankPlace place_;
  EngineParts parts_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tessera::apps
