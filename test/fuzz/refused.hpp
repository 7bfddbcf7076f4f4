// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a fuzzer does with an input that its reader refuses: nothing, unless it is known to be sound. A reader that
//       refuses the seeds as well would be fed for hours without a finding.
// Used: all fuzzers; run.sh sets the variable for the seeds.
// Must not know: what is read.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "core/base/error.hpp"

inline void refused(const tessera::Error& error) {
  static const bool sound = std::getenv("FUZZ_SOUND") != nullptr;
  if (!sound) return;
  std::fprintf(stderr, "a sound input was refused: %s\n", error.what());
  std::abort();
}
