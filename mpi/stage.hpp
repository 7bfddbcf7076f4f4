// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one thing that a posted call does among some ranks, as one value.
// Used: the MPI communicator makes stages, posted calls run them.
// Must not know: how a stage is run.
#pragma once

#include <cstdint>

#include "mpi/messages.hpp"
#include "mpi/node_group.hpp"
#include "mpi/request.hpp"

namespace tessera::mpi {

/// The members of a stage and the way to them.
struct Members {
  int rank = 0;
  int size = 1;
  Route route;
};

struct Stage {
  Members members;
  Request request;
  NodeGroup* group = nullptr;  ///< where MPI's messages are the second choice
  std::uint64_t number = 0;    ///< of the collective call in the group, or of the message between its pair
};

/// Calls that are outstanding together have different tags. MPI guarantees tags up to 32767.
constexpr int tag_of_call(std::uint64_t number) {
  return static_cast<int>(number % 8192);
}

/// Messages between pairs share one: their order is what counts.
constexpr int k_message_tag = 8192;

}  // namespace tessera::mpi
