// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what the user sees when something fails, and the exit code: the only place that prints errors.
// Used: main.cpp, verbs that run on several ranks.
// Must not know: what failed.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.hpp"

namespace tessera::apps {

/// "tessera: error: …" and "tessera: hint: …" on stderr. `who` names the rank where there are several.
void show_error(const Error& error, const std::string& who = {});

/// Runs `action`; when it throws, shows the error. Returns the exit code.
int reported(const std::function<int()>& action);

/// The exit code of a program that ends with `code`: another one where not all of its output was taken. Asked last.
int checked_output(int code);

}  // namespace tessera::apps
