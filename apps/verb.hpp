// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a verb of the program is.
// Used: main.cpp (dispatches), one file per verb (defines it).
// Must not know: what verbs do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/option.hpp"

namespace tessera::apps {

/// How many processes work on one call of a verb.
enum class Processes : std::uint8_t { one, ranks };

struct Verb {
  std::string_view name;
  std::string_view usage;    ///< "train [RUN.INI] [--section.key=value …]"
  std::string_view summary;  ///< one line
  int (*run)(std::span<const std::string> arguments);
  std::string (*help)();  ///< what follows usage and summary in `--help`
  Processes processes = Processes::one;
};

extern const Verb k_train, k_prepare, k_generate, k_inspect, k_modules, k_bench, k_plan, k_verify;

/// What a flag may ask for.
inline constexpr int k_most_threads = 4096;

/// The exit code of a program that has done what was asked.
inline constexpr int k_done = 0;

/// And of a training that was asked to stop and has saved nothing.
inline constexpr int k_unsaved = 72;

}  // namespace tessera::apps
