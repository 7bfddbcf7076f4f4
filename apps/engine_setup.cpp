// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/engine_setup.hpp"

namespace tessera::apps {

void order_sums(Ranks& ranks, const Settings& settings) {
  mpi::order_sums(ranks.world(),
                  settings.get<bool>("train.deterministic") ? mpi::SumOrder::ranks : mpi::SumOrder::nodes);
}

EngineSetup::EngineSetup(Ranks& ranks, const Run& run)
    : EngineSetup(run.settings(), run.registry(), run.kernels(),
                  {ranks.world(), ranks.threads().threads, ranks.memory(), mpi::workspace_bytes}) {
  order_sums(ranks, run.settings());
}

EngineSetup::EngineSetup(const Settings& settings, const Registry& registry, const KernelChoices& kernels,
                         const RankPlace& place)
    : settings_(settings),
      place_(place),
      parts_(settings, registry, kernels, place.world.size(), place.threads, place.memory) {}

void EngineSetup::compile(const ModelConfig& model, std::int64_t global_batch, const ExecutorOptions& executor) {
  engine_ = std::make_unique<Engine>(EngineArgs{model, parts_.dtype(), parts_.mesh(), place_.world, parts_.device(),
                                                parts_.kernels(), parts_.strategies(), parts_.optimizer(),
                                                parts_.clip(), global_batch, parts_.micro_batch(), 0,
                                                static_cast<std::uint64_t>(settings_.get<std::int64_t>("train.seed")),
                                                place_.collective_workspace, executor, parts_.pipeline()});
}

}  // namespace tessera::apps
