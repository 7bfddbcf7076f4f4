// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the context strategies by the name that a run file gives them.
// Used: tests that run with each of them.
// Must not know: what is tested.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/scheduler/strategy.hpp"

namespace tessera::test {

/// Every name that context_strategy() knows.
const std::vector<std::string>& context_strategies();

std::unique_ptr<Strategy> context_strategy(const std::string& name);

}  // namespace tessera::test
