// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/report.hpp"

#include <cstdio>

#include <fmt/core.h>

#include "core/base/line_output.hpp"
#include "core/base/printable.hpp"
#include "io/current_error.hpp"

namespace tessera::apps {
namespace {

constexpr std::size_t k_most_line = 2000;  // bytes; a longer one holds what somebody gave us, and tells nobody anything

}  // namespace

void show_error(const Error& error, const std::string& who) {
  std::string text = fmt::format("tessera: error: {}{}\n", who, printable(error.what(), k_most_line));
  if (!error.hint().empty()) text += fmt::format("tessera: hint: {}\n", printable(error.hint(), k_most_line));
  standard_error().write(text);
}

int reported(const std::function<int()>& action) {
  try {
    return action();
  } catch (...) {
    const Error error = io::current_error();
    show_error(error);
    return static_cast<int>(error.kind());
  }
}

int checked_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && !standard_output().failed()) return code;
  show_error(Error(ErrorKind::io, "standard output could not be written",
                   "Check where it goes: is that disk full, has its reader ended?"));
  return code == 0 ? static_cast<int>(ErrorKind::io) : code;
}

}  // namespace tessera::apps
