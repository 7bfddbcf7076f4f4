// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  who is to blame when a rank waits too long, told from the flight logs of all ranks that can be read.
// Used: the watchdog; pure, so that it can be tested.
// Must not know: threads, how logs are shared.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "core/comm/flight_recorder.hpp"

namespace tessera {

struct StallReport {
  int waiting_rank = -1;
  double seconds = 0;             ///< that it has waited
  CallRecord call;                ///< that it waits for
  std::string channel;            ///< name of the group of the call
  std::vector<int> silent_ranks;  ///< ranks of the run that hold it up; empty: none of those that can be read
  std::string text;               ///< for a person: who waits in what, who is silent, and what that one did last
};

/// Why the rank of `own`, which waits, is not served. A rank is silent when its process shows no life for longer than
/// `stale_after`; or it has not come to the call; or it has come and does not wait for it. When a rank that has not
/// come waits itself, those that hold *it* up are named instead; ranks that wait for each other are named together.
/// Returns an empty text when `own` does not wait. `logs` may include `own`.
StallReport explain_stall(std::span<const FlightLog* const> logs, const FlightLog& own,
                          std::chrono::nanoseconds stale_after);

}  // namespace tessera
