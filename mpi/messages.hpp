// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a batch of MPI messages in flight, each cut into pieces that MPI can count.
// Used: calls of the MPI communicator only.
// Must not know: what the bytes are.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/native.hpp"

namespace tessera::mpi {

/// Where the messages of one call travel.
struct Route {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;
  std::int64_t piece_bytes = 0;  ///< largest single message; both ends use the same
};

/// Messages of one pair and tag match in the order in which they were posted. Memory is kept between batches.
class Messages {
 public:
  void reserve(std::size_t messages);

  void send(const Route& route, const void* data, std::int64_t bytes, int to);
  void receive(const Route& route, void* data, std::int64_t bytes, int from);

  /// True when all are done; then the batch is empty again. Throws when one failed or was shorter than expected.
  bool test();

  /// Gives up the batch; what is in flight stays so.
  void clear();

 private:
  struct Expected {
    int peer = 0;
    int bytes = -1;  // -1: a send
  };

  void check_all(int code);

  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Expected> expected_;
};

}  // namespace tessera::mpi
