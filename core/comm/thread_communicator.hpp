// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  ranks that are threads of one process, so that parallel code runs without a launcher.
// Used: tests, verification in one process.
// Must not know: MPI, what the ranks compute.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/comm/communicator.hpp"

namespace tessera {

/// The communicators of n thread ranks, in order; each is for one thread. A sum is formed by the rank that calls last.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int n);

/// Runs `rank(communicator)` on n threads and returns when all have returned. When a rank throws, or returns while
/// others wait for its calls, the waits of the others end with Error{peer_lost}; the first exception is thrown here.
void run_ranks(int n, const std::function<void(Communicator&)>& rank);

}  // namespace tessera
