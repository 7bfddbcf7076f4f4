// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_block.hpp"

namespace tessera::mpi {

NodeBlock::NodeBlock(NodeMemory& memory, MPI_Comm comm, std::size_t bytes) : memory_(memory) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  const auto count = static_cast<std::int64_t>(bytes);
  const std::uint64_t own = *memory.offset_of(memory.allocate(count), count);
  offsets_.resize(static_cast<std::size_t>(size));
  check(MPI_Allgather(&own, 1, MPI_UINT64_T, offsets_.data(), 1, MPI_UINT64_T, comm), "MPI_Allgather");
}

}  // namespace tessera::mpi
