// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the state of a run (state.json) as rows of a table.
// Used: inspect.
// Must not know: what is in the state.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera::apps {

/// Values by their dotted names, in the order of the text; long ones are cut. An object that stands for a setting
/// ("value" and "from") is shown by its value, and not at all where that is the default. Empty where the text is no
/// JSON object.
std::vector<std::pair<std::string, std::string>> state_rows(const std::string& json);

}  // namespace tessera::apps
