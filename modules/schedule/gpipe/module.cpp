// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/schedule/gpipe/gpipe.hpp"

using namespace tessera;

TESSERA_MODULE(schedule, gpipe, "every micro-batch forward, then every one backward") {
  registrar.add<Schedule>("gpipe", [](const Settings&) { return std::make_unique<GPipe>(); });
}
