// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what options allow and this version does not do.
// Used: the resolution of a run.
// Must not know: how the rest is done.
#pragma once

#include <vector>

#include "core/config/settings.hpp"

namespace tessera::apps {

/// One problem for each option that asks for something that is not there yet.
std::vector<Problem> unbuilt(const Settings& settings);

}  // namespace tessera::apps
