// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/strategy/context_ring/context_ring.hpp"

using namespace tessera;

TESSERA_MODULE(strategy, context_ring,
               "the sequence split over ranks, keys and values pass round while attention works") {
  registrar.add<Strategy>("context_ring", [](const Settings& settings) {
    return std::make_unique<ContextRing>(zigzag_named(settings.get<std::string>("context_ring.zigzag")));
  });
}
