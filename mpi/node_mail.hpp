// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  messages between pairs of a group on one node, in order.
// Used: direct messages of the MPI communicator only.
// Must not know: slots, what is done with data that lie elsewhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mpi/native.hpp"
#include "mpi/node_parcel.hpp"

namespace tessera::mpi {

/// Messages of a pair and direction are numbered from 0. Small ones lie in the sender's ring until they are taken, and
/// their sender may go on; others are read by the receiver where they lie, whatever the sender does meanwhile.
class NodeMail {
 public:
  static constexpr std::uint64_t k_ring = Communicator::k_slots;

  /// Collective over `comm`, whose members are all on this node.
  NodeMail(std::shared_ptr<NodeMemory> memory, MPI_Comm comm, int rank, std::span<const int> world_ranks);

  /// Shows a message, and where its data are. Nothing when it is not this message's turn, or the ring is full.
  std::optional<NodeParcel::Place> try_send(int to, std::uint64_t message, ConstView in);

  /// Whether the receiver has taken it.
  bool taken(int to, std::uint64_t message) const;

  /// The message, when it is there and all before it are taken; its data are null when they lie elsewhere.
  std::optional<ConstView> arrived(int from, std::uint64_t message) const;

  /// The receiver needs the sender's data no more.
  void take(int from, std::uint64_t message);

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> messages;
  };
  /// One direction between this rank and another one.
  struct Lane {
    int local_rank = 0;        // of the sender
    Counter* sent = nullptr;   // written by the sender
    Counter* taken = nullptr;  // written by the receiver
    NodeParcel* ring = nullptr;
  };
  struct Peer {
    int local_rank = 0;
    Lane to, from;
  };

  const Peer& at(int member) const { return peers_[static_cast<std::size_t>(member)]; }

  std::shared_ptr<NodeMemory> memory_;
  std::vector<Peer> peers_;
};

}  // namespace tessera::mpi
