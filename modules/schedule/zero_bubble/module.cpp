// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/schedule/zero_bubble/zero_bubble.hpp"

using namespace tessera;

TESSERA_MODULE(schedule, zero_bubble, "weight gradients as passes of their own that fill bubbles (ZB-H1)") {
  registrar.add<Schedule>("zero_bubble", [](const Settings&) { return std::make_unique<ZeroBubble>(); });
}
