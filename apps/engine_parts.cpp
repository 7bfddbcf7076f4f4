// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/engine_parts.hpp"

#include "core/config/layer_counts.hpp"
#include "core/config/named_modules.hpp"

namespace tessera::apps {
namespace {

using Strategies = std::vector<std::unique_ptr<Strategy>>;

Strategies make_strategies(const Settings& settings, const Registry& registry) {
  Strategies strategies;
  for (const NamedModule& module : named_modules(settings))
    if (module.kind == "strategy") strategies.push_back(registry.create<Strategy>(module.name, settings));
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

EngineParts::EngineParts(const Settings& settings, const Registry& registry, const KernelChoices& kernels, int world,
                         int threads, HostMemory* memory)
    : settings_(settings),
      strategies_(make_strategies(settings, registry)),
      mesh_(make_mesh(settings_, world, strategies_)),
      device_(threads, memory) {
  kernels_.add(device_.kernels());
  for (const std::string& name : registry.names<KernelSet>()) {
    const auto set = registry.create<KernelSet>(name, settings_);
    if (set->device == device_.name()) kernels_.add(set->entries);
  }
  kernels_.choose(kernels);
  settings_.mark_used("parallel.sequence");  // without effect on one rank
  for (const NamedModule& module : named_modules(settings_))
    if (module.kind == "schedule") schedule_ = registry.create<Schedule>(module.name, settings_);
  optimizer_ = registry.create<Optimizer>(settings_.get<std::string>("optimizer.name"), settings_);
}

std::vector<const Strategy*> EngineParts::strategies() const {
  std::vector<const Strategy*> pointers;
  for (const auto& strategy : strategies_) pointers.push_back(strategy.get());
  return pointers;
}

PipelineArgs EngineParts::pipeline() const {
  return {schedule_.get(), settings_.get<int>("parallel.chunks"), layer_counts(settings_)};
}

DType EngineParts::dtype() const {
  return settings_.get<std::string>("train.precision") == "fp64" ? DType::f64 : DType::f32;
}

double EngineParts::clip() const {
  return settings_.get<double>("optimizer.clip");
}

std::int64_t EngineParts::micro_batch() const {
  return settings_.get<std::int64_t>("train.micro_batch");
}

}  // namespace tessera::apps
