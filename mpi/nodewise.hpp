// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  sums of a group on several nodes in three stages: within each node, between nodes, within each node.
// Used: the MPI communicator, where the order of sums is left to the transport.
// Must not know: slots, how a stage runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mpi/node_group.hpp"
#include "mpi/request.hpp"
#include "mpi/stage.hpp"

namespace tessera::mpi {

/// A member adds up one part for its node, adds that of the members of other nodes with the same place on theirs, and
/// all parts are gathered on each node. Between nodes an element travels once per node, not once per rank. The order of
/// the sum is by nodes, so its bits depend on where ranks are, but all members receive the same.
class Nodewise {
 public:
  /// Collective over `comm`. Nothing, on all members, when the group is on one node or not as many members are on each.
  static std::unique_ptr<Nodewise> find(MPI_Comm comm, int rank, std::span<const int> world_ranks,
                                        std::span<const int> node_of_rank, const std::shared_ptr<NodeMemory>& memory);

  /// All-reduces of types that are added in themselves: 16-bit floats would be rounded twice.
  static bool serves(const Request& request);

  /// The stages of the next call. `parts` gets the counts that they refer to, and must outlive the call.
  std::array<Stage, 3> stages(const Request& request, std::int64_t piece_bytes, std::vector<std::int64_t>& parts);

 private:
  Nodewise(UniqueComm node, UniqueComm between, std::unique_ptr<NodeGroup> group);

  UniqueComm node_, between_;
  int local_rank_ = 0, local_size_ = 1;
  int node_rank_ = 0, nodes_ = 1;
  std::unique_ptr<NodeGroup> group_;  // of the members on this node; null without shared memory
  std::uint64_t calls_ = 0;
};

}  // namespace tessera::mpi
