// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the communicator of all ranks.
// Used: programs, once.
// Must not know: how calls are made of messages.
#pragma once

#include <cstdint>
#include <memory>

#include "core/comm/communicator.hpp"
#include "mpi/environment.hpp"
#include "mpi/node_memory.hpp"
#include "mpi/threads.hpp"

namespace tessera::mpi {

struct CommunicatorOptions {
  /// Largest single message; longer ones are cut. At most 2^31 - 1, what MPI 3 can count. Equal on all ranks.
  std::int64_t piece_bytes = std::int64_t{1} << 30;

  /// Where groups of one node find each other's data, on all ranks or on none. Collective calls on data that lie
  /// elsewhere, and all calls without it, go by messages.
  std::shared_ptr<NodeMemory> memory;
};

/// Collective. The communicator, and all that are split from it, must end before the environment does. While a rank
/// waits for a call, all its calls advance. Communicators of different threads need ThreadLevel::multiple.
std::unique_ptr<Communicator> make_world(const Environment& environment, const CommunicatorOptions& options = {});

/// How sums of groups on several nodes are formed.
enum class SumOrder : std::uint8_t {
  ranks,  ///< in the order of ranks: the same bits on any nodes
  nodes   ///< within each node first, which needs fewer bytes between nodes; other bits on other nodes
};

/// For communicators that are split from this one later. The same on all ranks.
void order_sums(Communicator& world, SumOrder order);

/// Communicator::workspace_bytes of a communicator of so many members, for plans made before there is one.
std::int64_t workspace_bytes(CallKind kind, std::int64_t count, DType dtype, int members);

/// How many threads this rank may use, from the cores that it and its neighbours on the node are bound to. Collective.
ThreadChoice choose_threads(const Environment& environment);

}  // namespace tessera::mpi
