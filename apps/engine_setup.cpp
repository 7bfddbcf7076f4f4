// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/engine_setup.hpp"

#include <fmt/core.h>

#include "core/config/named_modules.hpp"

namespace tessera::apps {
namespace {

DType precision_of(const Settings& settings) {
  return settings.get<std::string>("train.precision") == "fp64" ? DType::f64 : DType::f32;
}

}  // namespace

Mesh make_mesh(const Settings& settings, int world) {
  const int tensor = settings.get<int>("parallel.tensor"), context = settings.get<int>("parallel.context"),
            pipeline = settings.get<int>("parallel.pipeline");
  return Mesh({{"tp", "tp", tensor},
               {"cp", "cp", context},
               {"dp", "dp", world / (tensor * context * pipeline)},
               {"pp", "pp", pipeline}});
}

EngineSetup::EngineSetup(Ranks& ranks, const Run& run)
    : settings_(run.settings()),
      world_(ranks.world()),
      mesh_(make_mesh(settings_, world_.size())),
      device_(ranks.threads().threads, ranks.memory()) {
  const Registry& registry = run.registry();
  kernels_.add(device_.kernels());
  for (const std::string& name : registry.names<KernelSet>()) {
    const auto set = registry.create<KernelSet>(name, settings_);
    if (set->device == device_.name()) kernels_.add(set->entries);
  }
  for (const NamedModule& module : named_modules(settings_))
    if (module.kind == "strategy") strategies_.push_back(registry.create<Strategy>(module.name, settings_));
  optimizer_ = registry.create<Optimizer>(settings_.get<std::string>("optimizer.name"), settings_);
}

void EngineSetup::compile(const ModelConfig& model, std::int64_t global_batch, const ExecutorOptions& executor) {
  EngineArgs args{model,
                  precision_of(settings_),
                  mesh_,
                  world_,
                  device_,
                  kernels_,
                  {},
                  *optimizer_,
                  settings_.get<double>("optimizer.clip"),
                  global_batch,
                  settings_.get<std::int64_t>("train.micro_batch"),
                  0,
                  static_cast<std::uint64_t>(settings_.get<std::int64_t>("train.seed")),
                  mpi::workspace_bytes,
                  executor};
  for (const auto& strategy : strategies_) args.strategies.push_back(strategy.get());
  engine_ = std::make_unique<Engine>(args);
}

}  // namespace tessera::apps
