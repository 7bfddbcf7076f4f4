// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  errors that a user can act on, and checks that are always on.
// Used: everywhere. Libraries throw; only `main` prints and exits.
// Must not know: ranks, files, how an error is shown.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace tessera {

/// What kind of failure it is. The value is the exit code of a rank (see share/doc/exit_codes.md).
enum class ErrorKind : unsigned char {
  different = 1,       ///< two things were compared and differ
  usage = 64,          ///< bad command line
  data = 65,           ///< damaged or invalid dataset, checkpoint, tokenizer
  not_found = 66,      ///< file or module not found
  unavailable = 69,    ///< device missing
  internal = 70,       ///< a bug of ours
  resources = 71,      ///< out of memory or descriptors
  cannot_create = 73,  ///< output not writable
  io = 74,             ///< read or write failed
  stopped = 75,        ///< stopped on request or time limit; state is committed
  disagreement = 76,   ///< ranks differ in configuration, binary, modules, data
  permission = 77,     ///< not allowed
  configuration = 78,  ///< invalid configuration
  numerics = 79,       ///< non-finite values beyond the limit
  stalled = 80,        ///< no progress within the watchdog's time
  peer_lost = 81,      ///< another rank died
};

/// An error for a person: what happened (and where), and what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = {})
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

/// Throws Error{internal} that names the failed condition, its operands and the place.
[[noreturn]] void check_failed(const char* condition, const std::string& operands, std::source_location where);

}  // namespace tessera

/// Always on. `operands` is a string, evaluated only on failure: TESSERA_CHECK(a == b, fmt::format("{} {}", a, b)).
#define TESSERA_CHECK(condition, operands)                                              \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::tessera::check_failed(#condition, (operands), std::source_location::current()); \
  } while (0)
