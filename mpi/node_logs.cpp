// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_logs.hpp"

#include <fmt/core.h>

#include <new>

#include "core/base/error.hpp"
#include "mpi/native.hpp"
#include "mpi/node_block.hpp"

namespace tessera::mpi {
namespace {

constexpr std::uintptr_t k_alignment = alignof(FlightLog);

}  // namespace

struct NodeLogs::Segment {
  UniqueComm node;
  std::shared_ptr<NodeMemory> memory;
  UniqueWindow window;
  FlightLog* own = nullptr;
  std::vector<const FlightLog*> all;
};

NodeLogs::NodeLogs(const Environment& environment, std::shared_ptr<NodeMemory> memory)
    : segment_(std::make_unique<Segment>()) {
  const RankFacts& facts = environment.layout().facts;
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split(MPI_COMM_WORLD, environment.layout().node, facts.rank, &node), "MPI_Comm_split");
  segment_->node = UniqueComm(node);
  segment_->memory = std::move(memory);
  segment_->memory == nullptr ? take_window(environment) : take_memory(facts);
  segment_->all[static_cast<std::size_t>(facts.local_rank)] = segment_->own;
}

// A log of zeros, which a block is at first, is an empty one.
void NodeLogs::take_memory(const RankFacts& facts) {
  const NodeBlock block(*segment_->memory, segment_->node.get(), sizeof(FlightLog));
  segment_->own = new (block.of(facts.local_rank, static_cast<std::size_t>(facts.local_rank))) FlightLog{};
  for (int rank = 0; rank < facts.local_size; ++rank) {
    segment_->all.push_back(
        std::launder(reinterpret_cast<const FlightLog*>(block.of(rank, static_cast<std::size_t>(rank)))));
  }
  check(MPI_Barrier(segment_->node.get()), "MPI_Barrier");
}

void NodeLogs::take_window(const Environment& environment) {
  const RankFacts& facts = environment.layout().facts;
  const MPI_Comm node = segment_->node.get();
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  // Bases of windows are not aligned as we need.
  if (MPI_Win_allocate_shared(sizeof(FlightLog) + k_alignment, 1, MPI_INFO_NULL, node, &base, &window) != MPI_SUCCESS)
    throw Error(ErrorKind::resources,
                fmt::format("rank {}: MPI cannot make the {} bytes that the ranks of host {} are to share", facts.rank,
                            sizeof(FlightLog), environment.layout().host),
                "Make /dev/shm larger, or free what other jobs have left there.");
  segment_->window = UniqueWindow(window);
  const std::uintptr_t offset = -reinterpret_cast<std::uintptr_t>(base) % k_alignment;
  segment_->own = new (static_cast<std::byte*>(base) + offset) FlightLog{};
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(facts.local_size));
  const std::uint64_t mine = offset;
  // Also the point after which all logs are empty ones.
  check(MPI_Allgather(&mine, 1, MPI_UINT64_T, offsets.data(), 1, MPI_UINT64_T, node), "MPI_Allgather");
  for (int rank = 0; rank < facts.local_size; ++rank) {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* theirs = nullptr;
    check(MPI_Win_shared_query(window, rank, &bytes, &unit, &theirs), "MPI_Win_shared_query");
    segment_->all.push_back(std::launder(
        reinterpret_cast<const FlightLog*>(static_cast<std::byte*>(theirs) + offsets[static_cast<std::size_t>(rank)])));
  }
}

NodeLogs::~NodeLogs() = default;

FlightLog& NodeLogs::own() {
  return *segment_->own;
}

const std::vector<const FlightLog*>& NodeLogs::all() const {
  return segment_->all;
}

}  // namespace tessera::mpi
