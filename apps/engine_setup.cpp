// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/engine_setup.hpp"

#include <fmt/core.h>

#include "core/config/layer_counts.hpp"
#include "core/config/named_modules.hpp"

namespace tessera::apps {
namespace {

DType precision_of(const Settings& settings) {
  return settings.get<std::string>("train.precision") == "fp64" ? DType::f64 : DType::f32;
}

using Strategies = std::vector<std::unique_ptr<Strategy>>;

Strategies make_strategies(const Run& run) {
  Strategies strategies;
  for (const NamedModule& module : named_modules(run.settings()))
    if (module.kind == "strategy") strategies.push_back(run.registry().create<Strategy>(module.name, run.settings()));
  return strategies;
}

/// tp, cp, dp, pp, fastest first, as strategies factor them; dp is what remains of the world.
Mesh make_mesh(const Settings& settings, int world, const Strategies& strategies) {
  const int tensor = settings.get<int>("parallel.tensor"), context = settings.get<int>("parallel.context"),
            pipeline = settings.get<int>("parallel.pipeline");
  std::vector<Axis> axes{{"tp", "tp", tensor},
                         {"cp", "cp", context},
                         {"dp", "dp", world / (tensor * context * pipeline)},
                         {"pp", "pp", pipeline}};
  for (const auto& strategy : strategies) strategy->factor(axes);
  return Mesh(std::move(axes));
}

}  // namespace

EngineSetup::EngineSetup(Ranks& ranks, const Run& run)
    : settings_(run.settings()),
      world_(ranks.world()),
      strategies_(make_strategies(run)),
      mesh_(make_mesh(settings_, world_.size(), strategies_)),
      device_(ranks.threads().threads, ranks.memory()) {
  const Registry& registry = run.registry();
  kernels_.add(device_.kernels());
  for (const std::string& name : registry.names<KernelSet>()) {
    const auto set = registry.create<KernelSet>(name, settings_);
    if (set->device == device_.name()) kernels_.add(set->entries);
  }
  settings_.mark_used("parallel.sequence");  // without effect on one rank
  for (const NamedModule& module : named_modules(settings_))
    if (module.kind == "schedule") schedule_ = registry.create<Schedule>(module.name, settings_);
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
                  executor,
                  {schedule_.get(), settings_.get<int>("parallel.chunks"), layer_counts(settings_)}};
  for (const auto& strategy : strategies_) args.strategies.push_back(strategy.get());
  engine_ = std::make_unique<Engine>(args);
}

}  // namespace tessera::apps
