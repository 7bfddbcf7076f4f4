// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the modules that a run names through its options: what has to be found, asked for options, and loaded.
// Used: apps, between the two steps of resolve.
// Must not know: modules themselves.
#pragma once

#include <string>
#include <vector>

#include "core/config/settings.hpp"

namespace tessera {

struct NamedModule {
  std::string kind, name;  ///< "optimizer", "adamw"
  std::string option;      ///< whose value names it: "optimizer.name"
  std::string degree;      ///< what asks for it, where that is a degree: "parallel.context"; else empty
};

/// Strategies come first, in the order in which they are asked: data, tensor, context, expert, extra. A schedule is
/// named where there is a pipeline.
std::vector<NamedModule> named_modules(const Settings& settings);

}  // namespace tessera
