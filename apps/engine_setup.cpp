// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/engine_setup.hpp"

#include <fmt/core.h>

#include "core/config/named_modules.hpp"

namespace tessera::apps {
namespace {

DType precision_of(const Settings& settings) {
  const std::string precision = settings.get<std::string>("train.precision");
  if (precision == "fp64") return DType::f64;
  if (precision == "fp32") return DType::f32;
  throw Error(ErrorKind::configuration,
              fmt::format("train.precision = {}: this version trains in fp32 and fp64", precision),
              "set train.precision = fp32");
}

void refuse_unbuilt(const Settings& settings) {
  std::vector<Problem> problems;
  for (const char* option : {"parallel.pipeline", "parallel.chunks"})
    if (const std::int64_t degree = settings.get<std::int64_t>(option); degree != 1)
      problems.push_back({fmt::format("{} = {}: this version has no pipeline", option, degree),
                          to_string(settings.origin(option)), fmt::format("set {} = 1", option)});
  if (settings.get<std::string>("train.recompute") != "none")
    problems.push_back({"train.recompute: this version keeps all activations",
                        to_string(settings.origin("train.recompute")), "set train.recompute = none"});
  if (settings.get<std::string>("offload.name") != "none")
    problems.push_back({"offload.name: this version keeps everything in memory",
                        to_string(settings.origin("offload.name")), "set offload.name = none"});
  if (!problems.empty()) throw run_error(problems);
}

}  // namespace

Mesh make_mesh(const Settings& settings, int world) {
  refuse_unbuilt(settings);
  return Mesh({{"tp", "tp", 1}, {"cp", "cp", 1}, {"dp", "dp", world}, {"pp", "pp", 1}});
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
