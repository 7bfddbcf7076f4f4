// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_group.hpp"

#include <algorithm>
#include <new>

#include "mpi/node_block.hpp"

namespace tessera::mpi {

NodeGroup::NodeGroup(std::shared_ptr<NodeMemory> memory, MPI_Comm comm, int rank, std::span<const int> world_ranks)
    : memory_(std::move(memory)),
      rank_(rank),
      world_ranks_(world_ranks.begin(), world_ranks.end()),
      entry_bytes_((sizeof(Entry) + sizeof(std::int64_t) * world_ranks.size() + 63) / 64 * 64),
      mail_(memory_, comm, rank, world_ranks) {
  const NodeBlock block(*memory_, comm, 2 * sizeof(Counter) + k_ring * entry_bytes_);
  for (std::size_t i = 0; i < world_ranks.size(); ++i) {
    Member member;
    member.local_rank = memory_->local_rank(world_ranks[i]);
    std::byte* theirs = block.of(member.local_rank, i);
    member.shown = std::launder(reinterpret_cast<Counter*>(theirs));
    member.finished = std::launder(reinterpret_cast<Counter*>(theirs + sizeof(Counter)));
    member.ring = theirs + 2 * sizeof(Counter);
    members_.push_back(member);
  }
}

NodeGroup::Entry& NodeGroup::entry(int member, std::uint64_t call) const {
  return *std::launder(reinterpret_cast<Entry*>(at(member).ring + call % k_ring * entry_bytes_));
}

std::int64_t* NodeGroup::counts(int member, std::uint64_t call) const {
  return std::launder(reinterpret_cast<std::int64_t*>(at(member).ring + call % k_ring * entry_bytes_ + sizeof(Entry)));
}

bool NodeGroup::try_show(std::uint64_t call, const CollectiveCall& own) {
  std::atomic<std::uint64_t>& shown = at(rank_).shown->calls;
  if (shown.load(std::memory_order_relaxed) != call || (call >= k_ring && !all_finished(call - k_ring))) {
    return false;
  }
  Entry& mine = entry(rank_, call);
  mine.kind = own.kind;
  mine.op = own.op;
  mine.root = own.root;
  mine.has_send_counts = own.send_counts != nullptr;
  ConstView in = own.in;
  if (own.kind == CallKind::broadcast && own.root != rank_) in.data = nullptr;
  mine.parcel.put(*memory_, in);
  const std::int64_t* told = mine.has_send_counts ? own.send_counts : own.receive_counts;
  if (told != nullptr) std::copy_n(told, members_.size(), counts(rank_, call));
  shown.store(call + 1, std::memory_order_release);
  ring_others();
  return true;
}

bool NodeGroup::all_show(std::uint64_t call) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](const Member& m) { return m.shown->calls.load(std::memory_order_acquire) > call; });
}

CollectiveCall NodeGroup::shown(int member, std::uint64_t call) const {
  const Entry& theirs = entry(member, call);
  CollectiveCall told{.kind = theirs.kind, .op = theirs.op, .root = theirs.root};
  told.in = theirs.parcel.view(*memory_, at(member).local_rank);
  told.out = const_cast<void*>(told.in.data);
  (theirs.has_send_counts ? told.send_counts : told.receive_counts) = counts(member, call);
  return told;
}

NodeParcel::Place NodeGroup::place(int member, std::uint64_t call) const {
  return entry(member, call).parcel.place();
}

void NodeGroup::finish(std::uint64_t call) {
  at(rank_).finished->calls.store(call + 1, std::memory_order_release);
  ring_others();
}

bool NodeGroup::all_finished(std::uint64_t call) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](const Member& m) { return m.finished->calls.load(std::memory_order_acquire) > call; });
}

void NodeGroup::ring_others() const {
  NodeBell::announce();
  for (int member = 0; member < size(); ++member) {
    if (member != rank_) memory_->bell(at(member).local_rank).ring();
  }
}

}  // namespace tessera::mpi
