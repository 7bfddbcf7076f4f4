// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `tessera bench experts`: products of many experts beside one product of as many rows.
// Used: bench.cpp.
// Must not know: other benchmarks, models.
#pragma once

#include <span>
#include <string>

namespace tessera::apps {

int bench_experts(std::span<const std::string> arguments);

}  // namespace tessera::apps
