// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/arguments.hpp"

#include <fmt/core.h>

#include "core/config/help.hpp"
#include "core/config/resolve.hpp"
#include "core/config/sources.hpp"
#include "mpi/launch.hpp"

namespace tessera::apps {

Error usage_error(std::string_view verb, std::span<const Problem> problems) {
  std::string message = fmt::format("{}:", verb);
  for (const Problem& problem : problems) {
    message += problems.size() > 1 ? "\n  " : " ";
    message += problem.what;
    if (!problem.hint.empty()) message += ": " + problem.hint;
  }
  return {ErrorKind::usage, message, fmt::format("`tessera {} --help` lists arguments and flags", verb)};
}

Error usage_error(std::string_view verb, std::string what, std::string hint) {
  const Problem problem{std::move(what), {}, std::move(hint)};
  return usage_error(verb, {&problem, 1});
}

Arguments read_arguments(std::string_view verb, std::span<const std::string> arguments,
                         std::span<const Option> options) {
  std::vector<Problem> problems;
  Flags flags = read_flags(arguments, options, problems);
  Resolved resolved = resolve(options, flags.raws);
  problems.insert(problems.end(), resolved.problems.begin(), resolved.problems.end());
  if (!problems.empty()) throw usage_error(verb, problems);
  return {std::move(resolved.settings), std::move(flags.positionals)};
}

void check_alone(std::string_view verb) {
  const int processes = mpi::launched_processes(mpi::environment_variables());
  if (processes > 1)
    throw Error(ErrorKind::usage,
                fmt::format("`tessera {}` works in one process, but was started as {}", verb, processes),
                "Start it without mpirun or srun.");
}

std::string flags_help(std::string_view text, std::span<const Option> options) {
  return std::string(text) + help_text(options, {.level = OptionLevel::developer});
}

}  // namespace tessera::apps
