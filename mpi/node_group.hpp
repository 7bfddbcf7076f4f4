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

#include "core/comm/collective_share.hpp"
#include "mpi/native.hpp"
#include "mpi/node_mail.hpp"
#include "mpi/node_parcel.hpp"

namespace tessera::mpi {

/// Calls are numbered from 0 and run in order. A member shows its call, does its share when all have shown theirs, and
/// says that it has finished; its data are its own again when all have finished, or at once when they were inside.
class NodeGroup {
 public:
  static constexpr std::uint64_t k_ring = Communicator::k_slots;

  /// Collective over `comm`, whose members are all on this node.
  NodeGroup(std::shared_ptr<NodeMemory> memory, MPI_Comm comm, int rank, std::span<const int> world_ranks);

  NodeMemory& memory() { return *memory_; }
  NodeMail& mail() { return mail_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  int world_rank(int member) const { return world_ranks_[static_cast<std::size_t>(member)]; }

  /// Shows this member's call. False when it is not this call's turn, or a slow member may still look at the call
  /// k_ring before.
  bool try_show(std::uint64_t call, const CollectiveCall& own);
  bool all_show(std::uint64_t call) const;

  /// What a member shows; its data are null when they lie elsewhere. `out` is where `in` is: calls in place have no
  /// other.
  CollectiveCall shown(int member, std::uint64_t call) const;
  NodeParcel::Place place(int member, std::uint64_t call) const;

  void finish(std::uint64_t call);
  bool all_finished(std::uint64_t call) const;

  /// The call that is run next.
  std::uint64_t turn() const { return turn_; }
  void next_turn() { ++turn_; }

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> calls;
  };
  struct Entry {
    CallKind kind;
    ReduceOp op;
    int root;
    bool has_send_counts;
    NodeParcel parcel;  // followed by counts: of what is sent in an all_to_all, else of what is received
  };
  struct Member {
    int local_rank = 0;
    Counter* shown = nullptr;
    Counter* finished = nullptr;
    std::byte* ring = nullptr;
  };

  Entry& entry(int member, std::uint64_t call) const;
  std::int64_t* counts(int member, std::uint64_t call) const;
  const Member& at(int member) const { return members_[static_cast<std::size_t>(member)]; }
  void ring_others() const;

  std::shared_ptr<NodeMemory> memory_;
  int rank_;
  std::vector<int> world_ranks_;
  std::size_t entry_bytes_;
  std::vector<Member> members_;
  NodeMail mail_;
  std::uint64_t turn_ = 0;
};

}  // namespace tessera::mpi
