// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one block of shared memory of each member of a group, which all members find.
// Used: what members of a group on one node share.
// Must not know: what lies in the blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/native.hpp"
#include "mpi/node_memory.hpp"

namespace tessera::mpi {

/// The blocks stay when this ends, as long as the memory does: a slow member may still look at one.
class NodeBlock {
 public:
  /// Collective over `comm`: every member gives as many bytes, which are zero.
  NodeBlock(NodeMemory& memory, MPI_Comm comm, std::size_t bytes);

  /// The block of a member, which is rank `local_rank` of the node.
  std::byte* of(int local_rank, std::size_t member) const { return memory_.at(local_rank, offsets_[member]); }

 private:
  NodeMemory& memory_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace tessera::mpi
