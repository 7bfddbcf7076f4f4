// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/engine_setup.hpp"

namespace tessera::apps {

EngineSetup::EngineSetup(Ranks& ranks, const Run& run)
    : settings_(run.settings()),
      world_(ranks.world()),
      parts_(run, world_.size(), ranks.threads().threads, ranks.memory()) {}

void EngineSetup::compile(const ModelConfig& model, std::int64_t global_batch, const ExecutorOptions& executor) {
  engine_ = std::make_unique<Engine>(EngineArgs{model, parts_.dtype(), parts_.mesh(), world_, parts_.device(),
                                                parts_.kernels(), parts_.strategies(), parts_.optimizer(),
                                                parts_.clip(), global_batch, parts_.micro_batch(), 0,
                                                static_cast<std::uint64_t>(settings_.get<std::int64_t>("train.seed")),
                                                mpi::workspace_bytes, executor, parts_.pipeline()});
}

}  // namespace tessera::apps
