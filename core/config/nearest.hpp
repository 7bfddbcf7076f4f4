// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  "did you mean": the known names nearest to one that is not known.
// Used: resolve, the command line, the registry of modules.
// Must not know: what the names stand for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Insertions, deletions, replacements and exchanges of neighbours (optimal string alignment), case ignored.
int edit_distance(std::string_view a, std::string_view b);

/// At most three, nearest first, none that is farther than a third of its length; names whose part behind the dot is
/// exactly `name` ("layers" for "model.layers") count as near.
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> known);

/// "did you mean a, b or c?", or nothing if none is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace tessera
