// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  steps on demand, so that another program can be measured in turn with this one, on one machine.
// Used: the benchmark `step`.
// Must not know: what it is compared with.
#pragma once

#include "apps/bench/steps.hpp"
#include "apps/ranks.hpp"

namespace tessera::apps {

/// Warms up and prints a line that describes the run. Then reads lines of standard input: each is a number of steps,
/// which are run and answered by one line: their seconds, the processor time and the seconds of each op in all of them
/// (of rank 0), and the bytes per second that reading and writing memory reach then. Until the input ends; gives the
/// seconds of all steps.
///
///     {"parameters": 124439808, "tokens_per_step": 1024, "ranks": 1, "threads": 2}
///     {"seconds": [4.1, 4.0], "cpu_seconds": 16.1, "ops": {"adamw": 0.25}, "stream_bytes_per_second": 1.6e10}
///
/// Collective. Throws AgreedError{usage} on a line that is no number.
std::vector<double> take_turns(Ranks& ranks, StepBench& bench);

}  // namespace tessera::apps
