// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/schedule/interleaved/interleaved.hpp"

using namespace tessera;

TESSERA_MODULE(schedule, interleaved,
               "one forward, one backward over several chunks per stage: smaller bubbles, more messages") {
  registrar.add<Schedule>("interleaved", [](const Settings&) { return std::make_unique<Interleaved>(); });
}
