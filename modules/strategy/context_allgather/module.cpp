// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/strategy/context_allgather/context_allgather.hpp"

using namespace tessera;

TESSERA_MODULE(strategy, context_allgather, "the sequence split over ranks, keys and values gathered for attention") {
  registrar.add<Strategy>("context_allgather", [](const Settings& settings) {
    return std::make_unique<ContextAllgather>(zigzag_named(settings.get<std::string>("context_allgather.zigzag")));
  });
}
