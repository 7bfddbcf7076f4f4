// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a user wrote (run file, flags, environment) as a list of raw values that know their place.
// Used: apps on rank 0, tests. Files are read as text by the caller.
// Must not know: which keys exist (except which flags take no value), how values are typed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/option.hpp"
#include "core/config/origin.hpp"

namespace tessera {

/// An INI text: `[section]`, `key = value`, comment lines that begin with `;` or `#`. Behind a value a comment begins
/// at a `#` that follows white space; in double quotes everything is the value. `path` names the text in messages.
/// What cannot be read is added to `problems`; the rest is returned. Duplicates are returned as they come.
std::vector<Raw> read_ini(std::string_view text, std::string_view path, std::vector<Problem>& problems,
                          Origin::From from = Origin::From::file);

struct Flags {
  std::vector<Raw> raws;
  std::vector<std::string> positionals;
};

/// `--section.key=value`, `--section.key value`, `--section.key` for a boolean, flags of other trainers that are
/// aliases in `options`, `--name` for options without a section. Everything behind `--` is positional. A flag with a
/// dot that is not in `options` yet (its module was not found so far) is kept.
Flags read_flags(std::span<const std::string> arguments, std::span<const Option> options,
                 std::vector<Problem>& problems);

/// Variables TESSERA__SECTION__KEY: `environment` holds "NAME=value" strings.
std::vector<Raw> read_environment(std::span<const std::string> environment);

}  // namespace tessera
