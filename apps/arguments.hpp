// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the flags of one verb ("--output FILE"), described by rows of options like everything else.
// Used: verbs that have flags of their own.
// Must not know: run files, what the flags mean.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/option.hpp"
#include "core/config/origin.hpp"
#include "core/config/settings.hpp"

namespace tessera::apps {

struct Arguments {
  Settings settings;  ///< every option of the verb
  std::vector<std::string> positionals;
};

/// Throws Error{usage} that lists every unknown flag (with the nearest names), missing value and value out of range.
Arguments read_arguments(std::string_view verb, std::span<const std::string> arguments,
                         std::span<const Option> options);

/// The problems of a command line as one Error{usage}.
Error usage_error(std::string_view verb, std::span<const Problem> problems);

/// The same for one problem.
Error usage_error(std::string_view verb, std::string what, std::string hint = {});

/// Throws Error{usage} where a launcher started several processes for a verb that works in one: each would do all of
/// it, and write the same files.
void check_alone(std::string_view verb);

/// The flags of a verb for its `--help`, behind the text that explains it.
std::string flags_help(std::string_view text, std::span<const Option> options);

}  // namespace tessera::apps
