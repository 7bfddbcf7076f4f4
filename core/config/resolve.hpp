// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  raw values and the table of options become settings, and everything that is wrong is said at once.
// Used: apps, tests, embedders.
// Must not know: files, modules (it sees their options only).
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/option.hpp"
#include "core/config/origin.hpp"
#include "core/config/settings.hpp"

namespace tessera {

struct Resolved {
  Settings settings;              ///< complete: where a value is wrong, its default stands in
  std::vector<Problem> problems;  ///< unknown, duplicate, mistyped, out of range, not used in this mode
};

/// Precedence: default, preset, file, environment, flag. Two values from the same kind of source are a problem.
///
/// A run with modules is resolved twice: first with the core's options (problems are ignored) to learn which modules
/// are named, then with their options too. `dormant` are options of modules that exist but are not named: a key of
/// theirs is still a problem, but one that says whose key it is.
Resolved resolve(std::span<const Option> options, std::span<const Raw> raws, std::span<const Option> dormant = {});

/// Settings from assignments in code: settings_of({{"model.layers", "2"}}). Throws run_error on problems.
Settings settings_of(std::initializer_list<std::pair<std::string_view, std::string_view>> assignments,
                     std::span<const Option> options);
/// The same with the core's options.
Settings settings_of(std::initializer_list<std::pair<std::string_view, std::string_view>> assignments = {});

}  // namespace tessera
