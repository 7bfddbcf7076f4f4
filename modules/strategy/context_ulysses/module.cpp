// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/strategy/context_ulysses/context_ulysses.hpp"

using namespace tessera;

TESSERA_MODULE(strategy, context_ulysses, "the sequence split over ranks, exchanged for heads around attention") {
  registrar.add<Strategy>("context_ulysses", [](const Settings&) { return std::make_unique<ContextUlysses>(); });
}
