// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/report.hpp"

#include <cstdio>
#include <new>

#include <fmt/core.h>

namespace tessera::apps {

void show_error(const Error& error, const std::string& who) {
  fmt::print(stderr, "tessera: error: {}{}\n", who, error.what());
  if (!error.hint().empty()) fmt::print(stderr, "tessera: hint: {}\n", error.hint());
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::resources, "out of memory", "use a smaller train.micro_batch, or more ranks");
  } catch (const std::exception& error) {
    return Error(ErrorKind::internal, error.what(), "This is a defect of Tessera. Please report it.");
  }
}

int reported(const std::function<int()>& action) {
  try {
    return action();
  } catch (...) {
    const Error error = current_error();
    show_error(error);
    return static_cast<int>(error.kind());
  }
}

}  // namespace tessera::apps
