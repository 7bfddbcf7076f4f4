// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "test/support/faulty_strategy.hpp"

using namespace tessera;

TESSERA_MODULE(strategy, faulty, "for tests: the backward of the norms of layer 1 is wrong on several ranks") {
  registrar.add<Strategy>("faulty",
                          [](const Settings&) { return std::make_unique<testing_support::FaultyStrategy>(1); });
}
