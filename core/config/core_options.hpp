// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the core's table of options, read from core/config/options.json, and the reader of such tables.
// Used: resolve, help, the manifests of modules (options.json has the same form).
// Must not know: what the options are for.
#pragma once

#include <string_view>
#include <vector>

#include "core/config/option.hpp"

namespace tessera {

const std::vector<Option>& core_options();

/// A table in JSON: a list of {"name", "type", "default", "text"} with, where needed, "choices", "available",
/// "min", "max", "level" (user, tuning, developer), "ranks" (equal, local), "aliases" ("flag" or "flag=value"),
/// "used_when". Throws Error{configuration} that names the row and the field.
std::vector<Option> parse_options(std::string_view json, std::string_view owner);

}  // namespace tessera
