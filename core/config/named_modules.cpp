// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/named_modules.hpp"

namespace tessera {

std::vector<NamedModule> named_modules(const Settings& settings) {
  std::vector<NamedModule> modules;
  modules.push_back({"strategy", settings.get<std::string>("strategy.data"), "strategy.data", {}});
  if (settings.get<int>("parallel.tensor") > 1)
    modules.push_back({"strategy", "tensor_parallel", "parallel.tensor", "parallel.tensor"});
  const auto context = settings.get<std::string>("strategy.context");
  if (settings.get<int>("parallel.context") > 1)
    modules.push_back({"strategy", "context_" + context, "strategy.context", "parallel.context"});
  if (settings.get<int>("parallel.expert") > 1)
    modules.push_back({"strategy", "expert_parallel", "parallel.expert", "parallel.expert"});
  for (const std::string& name : settings.get<std::vector<std::string>>("strategy.extra"))
    modules.push_back({"strategy", name, "strategy.extra", {}});
  const auto schedule = settings.get<std::string>("strategy.pipeline");
  if (settings.get<int>("parallel.pipeline") > 1)
    modules.push_back({"schedule", schedule, "strategy.pipeline", "parallel.pipeline"});
  modules.push_back({"optimizer", settings.get<std::string>("optimizer.name"), "optimizer.name", {}});
  if (const auto offload = settings.get<std::string>("offload.name"); offload != "none")
    modules.push_back({"offload", offload, "offload.name", {}});
  return modules;
}

}  // namespace tessera
