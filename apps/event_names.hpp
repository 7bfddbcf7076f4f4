// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what an instruction is called on a timeline, measured or simulated.
// Used: traces of runs, `plan --timeline`.
// Must not know: times, files.
#pragma once

#include <cstdint>
#include <string>

#include "core/scheduler/plan.hpp"

namespace tessera::apps {

/// "linear layer 3", "all_reduce(dp) head"
std::string event_name(const Plan& plan, const Instruction& instruction);

/// "step 2 backward 1": the step, the kind of program, the micro-batch.
std::string event_category(const Plan& plan, const Action& action, std::int64_t step);

}  // namespace tessera::apps
