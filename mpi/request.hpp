// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a posted call was asked to do, as one value.
// Used: the MPI communicator and the two ways in which it serves calls.
// Must not know: how the call is served.
#pragma once

#include <span>

#include "core/comm/communicator.hpp"

namespace tessera::mpi {

struct Request {
  CallKind kind = CallKind::barrier;
  ReduceOp op = ReduceOp::sum;
  ConstView in = {};
  View out = {};                                      ///< all_reduce, broadcast, receive: the same as `in`
  std::span<const std::int64_t> send_counts = {};     ///< all_to_all
  std::span<const std::int64_t> receive_counts = {};  ///< parts of reduce_scatter, all_gather; all_to_all
  int peer = -1;                                      ///< send, receive: the other end; broadcast: the root
  std::span<std::byte> workspace = {};
};

}  // namespace tessera::mpi
