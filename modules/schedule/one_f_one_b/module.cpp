// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"

using namespace tessera;

TESSERA_MODULE(schedule, one_f_one_b, "one forward, one backward: at most as many frames as stages") {
  registrar.add<Schedule>("one_f_one_b", [](const Settings&) { return std::make_unique<OneFOneB>(); });
}
