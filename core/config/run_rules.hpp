// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  rules between options that hold for every run, checked before anything is built.
// Used: apps, after resolve.
// Must not know: layouts and modules; what only they can refuse, they refuse.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/config/settings.hpp"

namespace tessera {

/// All rules that are broken, with the numbers on both sides and values that would do. `world`: ranks, 0 if not known
/// yet (then rules about ranks are left out).
std::vector<Problem> check_run(const Settings& settings, std::int64_t world);

/// What somebody wrote and this version cannot do (see Option::available).
std::vector<Problem> check_available(const Settings& settings, std::span<const Option> options);

}  // namespace tessera
