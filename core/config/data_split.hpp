// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `data.split`: which part of the training data is kept for evaluation.
// Used: the rules of a run, training data.
// Must not know: datasets.
#pragma once

#include <optional>
#include <string_view>

namespace tessera {

/// "99, 1" -> the second part's share of all; "1" -> 0. Nothing when it is not one or two shares, the first above 0.
std::optional<double> parse_split(std::string_view text);

}  // namespace tessera
