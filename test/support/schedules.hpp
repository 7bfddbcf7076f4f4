// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the schedule modules by name, without loading anything.
// Used: tests of pipelines.
// Must not know: what they do.
#pragma once

#include <string_view>

#include "core/scheduler/schedule.hpp"

namespace tessera::testing_support {

/// "gpipe", "one_f_one_b", "interleaved" or "zero_bubble"; lives until the program ends. Throws Error{internal}.
const Schedule& schedule_of(std::string_view name);

}  // namespace tessera::testing_support
