// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where members of a group on one node tell each other which collective call they are at, and where its data are.
// Used: direct calls of the MPI communicator only.
// Must not know: what a call does with the data.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "mpi/native.hpp"
#include "mpi/node_memory.hpp"

namespace tessera::mpi {

/// Calls are numbered from 0 and run in order. Each has stages 1, 2 and 3 (left); a member that has reached a stage has
/// reached all before it, and all of earlier calls.
class NodeGroup {
 public:
  static constexpr std::uint64_t k_ring = Communicator::k_slots;
  static constexpr int k_left = 3;
  static constexpr std::uint64_t k_elsewhere = ~std::uint64_t{0};  ///< offset of data that are not in shared memory

  /// Collective over `comm`, whose members are all on this node.
  NodeGroup(std::shared_ptr<NodeMemory> memory, MPI_Comm comm, int rank, std::span<const int> world_ranks);

  NodeMemory& memory() { return *memory_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }

  /// Shows where this member's data of a call are; `places` has a number for each member, or none. False when it is not
  /// this call's turn, or a slow member may still look at the call k_ring before.
  bool try_show(std::uint64_t call, std::uint64_t offset, std::span<const std::int64_t> places);

  bool all_show(std::uint64_t call) const;
  std::uint64_t offset(int member, std::uint64_t call) const;
  std::int64_t place(int member, std::uint64_t call, int of) const;
  std::byte* data(int member, std::uint64_t offset) const;

  void reach(std::uint64_t call, int stage);
  bool all_reach(std::uint64_t call, int stage) const;

  /// The call that is run next; leaving one makes it the next one's turn.
  std::uint64_t turn() const { return turn_; }
  void leave();

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> value;
  };
  struct Member {
    int local_rank = 0;
    Counter* shown = nullptr;  // calls shown
    Counter* stage = nullptr;  // 4 · call + stage
    std::byte* ring = nullptr;
  };

  /// An offset and the places.
  std::int64_t* entry(int member, std::uint64_t call) const;

  std::shared_ptr<NodeMemory> memory_;
  int rank_;
  std::size_t entry_bytes_;
  std::vector<Member> members_;
  std::uint64_t turn_ = 0;
};

}  // namespace tessera::mpi
