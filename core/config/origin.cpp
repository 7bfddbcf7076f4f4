// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/origin.hpp"

#include <fmt/core.h>

#include <array>

namespace tessera {

std::string_view name_of(Origin::From from) {
  constexpr std::array<std::string_view, 6> names{"default", "preset", "file", "environment", "flag", "alias"};
  return names[static_cast<std::size_t>(from)];
}

std::string to_string(const Origin& origin) {
  return origin.where.empty() ? std::string(name_of(origin.from)) : origin.where;
}

Error run_error(const std::vector<Problem>& problems) {
  std::string message = problems.size() == 1 ? "the configuration has a problem:"
                                             : fmt::format("the configuration has {} problems:", problems.size());
  for (const Problem& problem : problems) {
    message += "\n  ";
    if (!problem.where.empty()) message += problem.where + ": ";
    message += problem.what;
    if (!problem.hint.empty()) message += "\n      " + problem.hint;
  }
  return {ErrorKind::configuration, message, "Nothing was started. All problems that were found are listed."};
}

}  // namespace tessera
