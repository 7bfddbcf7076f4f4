// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where a value came from, the raw form in which sources deliver it, and what is wrong with it.
// Used: sources, resolve, settings.
// Must not know: options and their types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace tessera {

struct Origin {
  /// In increasing order of precedence.
  enum class From : std::uint8_t { fallback, preset, file, environment, flag, alias };
  From from = From::fallback;
  std::string where = {};  ///< "run.ini:12", "TESSERA__TRAIN__STEPS", "--train.steps"; empty for a default

  friend bool operator==(const Origin&, const Origin&) = default;
};

/// "run.ini:12", or "default".
std::string to_string(const Origin& origin);
std::string_view name_of(Origin::From from);

/// A value as it was written, before anything is known about its option.
struct Raw {
  std::string key, value;
  Origin origin;
};

/// One thing that is wrong with a run: what, where it was written, what to do.
struct Problem {
  std::string what, where, hint;
};

/// All of them in one error of kind `configuration`.
Error run_error(const std::vector<Problem>& problems);

}  // namespace tessera
