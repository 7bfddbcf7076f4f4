// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/origin.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

namespace tessera {

namespace {

constexpr std::size_t k_most_shown = 50;

}  // namespace

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
  for (const Problem& problem : std::span(problems).first(std::min(problems.size(), k_most_shown))) {
    message += "\n  ";
    if (!problem.where.empty()) message += problem.where + ": ";
    message += problem.what;
    if (!problem.hint.empty()) message += "\n      " + problem.hint;
  }
  if (problems.size() <= k_most_shown)
    return {ErrorKind::configuration, message, "Nothing was started. All problems that were found are listed."};
  message += fmt::format("\n  and {} more", problems.size() - k_most_shown);
  return {ErrorKind::configuration, message, "Nothing was started."};
}

}  // namespace tessera
