// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.hpp"

#include <fmt/core.h>

namespace tessera {

void check_failed(const char* condition, const std::string& operands, std::source_location where) {
  throw Error(ErrorKind::internal,
              fmt::format("{}:{}: check failed: {} ({})", where.file_name(), where.line(), condition, operands),
              "This is a defect of Tessera. Please report it together with the run file.");
}

}  // namespace tessera
