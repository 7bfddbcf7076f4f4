// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `parallel.layers`: how many layers each chunk of the pipeline gets, where somebody says it.
// Used: the rules of a run, apps.
// Must not know: models, what a chunk costs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/settings.hpp"

namespace tessera {

/// "3", "3", "2" -> 3, 3, 2; nothing when one of them is not an integer above 0.
std::optional<std::vector<int>> parse_layer_counts(std::span<const std::string> words);

/// The option's value; empty: chosen by cost. Throws Error{configuration} when it is no list of counts.
std::vector<int> layer_counts(const Settings& settings);

}  // namespace tessera
