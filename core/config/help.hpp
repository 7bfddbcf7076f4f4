// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the options as text for --help.
// Used: apps.
// Must not know: verbs, terminals.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/config/option.hpp"

namespace tessera {

struct HelpRequest {
  OptionLevel level = OptionLevel::user;  ///< options up to this level
  std::string_view section = {};          ///< one section only; empty: all
  int width = 100;                        ///< columns
};

/// Grouped by section in the order of the table; each with type, default, range or choices, text and aliases.
std::string help_text(std::span<const Option> options, const HelpRequest& request = {});

}  // namespace tessera
