// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/strategy/expert_parallel/expert_parallel.hpp"

using namespace tessera;

TESSERA_MODULE(strategy, expert_parallel, "whole experts on each rank, rows of tokens exchanged") {
  registrar.add<Strategy>("expert_parallel", [](const Settings& settings) {
    return std::make_unique<ExpertParallel>(settings.get<int>("parallel.expert"));
  });
}
