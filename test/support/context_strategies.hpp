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

#include "core/scheduler/sequence_order.hpp"
#include "core/scheduler/strategy.hpp"

namespace tessera::test {

/// Every name that context_strategy() knows.
const std::vector<std::string>& context_strategies();

/// Strategies that have no order of their own ignore `zigzag`.
std::unique_ptr<Strategy> context_strategy(const std::string& name, Zigzag zigzag = Zigzag::where_possible);

}  // namespace tessera::test
