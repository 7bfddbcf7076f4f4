// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  everything that a user said about a run, gathered: preset, run file, environment, flags.
// Used: apps, on rank 0.
// Must not know: what the values mean (except which key names the preset).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/option.hpp"
#include "core/config/origin.hpp"

namespace tessera {

struct RunSources {
  std::vector<Raw> raws;                 ///< for resolve
  std::vector<std::string> positionals;  ///< arguments that are no flags; the run file is one of them if it was taken
  std::vector<Problem> problems;
};

/// Which positional argument is the run file.
enum class RunFile : std::uint8_t { none, first };

/// `arguments` are those behind the verb, `environment` "NAME=value" texts. If model.preset is set anywhere, the file
/// of that name in share/models is read too; a name that is not there is a problem that names the nearest ones.
/// Throws Error{not_found} or Error{io} where the run file cannot be read.
RunSources gather_sources(std::span<const std::string> arguments, std::span<const std::string> environment,
                          std::span<const Option> options, RunFile run_file);

}  // namespace tessera
