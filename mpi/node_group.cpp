// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_group.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "core/base/error.hpp"

namespace tessera::mpi {

NodeGroup::NodeGroup(std::shared_ptr<NodeMemory> memory, MPI_Comm comm, int rank, std::span<const int> world_ranks)
    : memory_(std::move(memory)),
      rank_(rank),
      entry_bytes_((sizeof(std::int64_t) * (1 + world_ranks.size()) + 63) / 64 * 64) {
  const std::size_t bytes = 2 * sizeof(Counter) + k_ring * entry_bytes_;
  auto* block = static_cast<std::byte*>(memory_->allocate(static_cast<std::int64_t>(bytes)));
  new (block) Counter{};
  new (block + sizeof(Counter)) Counter{};
  const std::uint64_t own = *memory_->offset_of(block, static_cast<std::int64_t>(bytes));
  std::vector<std::uint64_t> offsets(world_ranks.size());
  check(MPI_Allgather(&own, 1, MPI_UINT64_T, offsets.data(), 1, MPI_UINT64_T, comm), "MPI_Allgather");
  const std::vector<int>& node = memory_->world_ranks();
  for (std::size_t i = 0; i < world_ranks.size(); ++i) {
    const auto local = std::lower_bound(node.begin(), node.end(), world_ranks[i]);
    TESSERA_CHECK(local != node.end() && *local == world_ranks[i],
                  fmt::format("rank {} is not on this node", world_ranks[i]));
    Member member;
    member.local_rank = static_cast<int>(local - node.begin());
    std::byte* theirs = memory_->at(member.local_rank, offsets[i]);
    member.shown = std::launder(reinterpret_cast<Counter*>(theirs));
    member.stage = std::launder(reinterpret_cast<Counter*>(theirs + sizeof(Counter)));
    member.ring = theirs + 2 * sizeof(Counter);
    members_.push_back(member);
  }
}

std::int64_t* NodeGroup::entry(int member, std::uint64_t call) const {
  return reinterpret_cast<std::int64_t*>(members_[static_cast<std::size_t>(member)].ring +
                                         call % k_ring * entry_bytes_);
}

bool NodeGroup::try_show(std::uint64_t call, std::uint64_t offset, std::span<const std::int64_t> places) {
  std::atomic<std::uint64_t>& shown = members_[static_cast<std::size_t>(rank_)].shown->value;
  if (shown.load(std::memory_order_relaxed) != call || (call >= k_ring && !all_reach(call - k_ring, k_left))) {
    return false;
  }
  std::int64_t* own = entry(rank_, call);
  own[0] = static_cast<std::int64_t>(offset);
  std::copy(places.begin(), places.end(), own + 1);
  shown.store(call + 1, std::memory_order_release);
  return true;
}

bool NodeGroup::all_show(std::uint64_t call) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](const Member& m) { return m.shown->value.load(std::memory_order_acquire) > call; });
}

std::uint64_t NodeGroup::offset(int member, std::uint64_t call) const {
  return static_cast<std::uint64_t>(entry(member, call)[0]);
}

std::int64_t NodeGroup::place(int member, std::uint64_t call, int of) const {
  return entry(member, call)[1 + of];
}

std::byte* NodeGroup::data(int member, std::uint64_t offset) const {
  return memory_->at(members_[static_cast<std::size_t>(member)].local_rank, offset);
}

void NodeGroup::reach(std::uint64_t call, int stage) {
  members_[static_cast<std::size_t>(rank_)].stage->value.store(4 * call + static_cast<std::uint64_t>(stage),
                                                               std::memory_order_release);
}

bool NodeGroup::all_reach(std::uint64_t call, int stage) const {
  const std::uint64_t wanted = 4 * call + static_cast<std::uint64_t>(stage);
  return std::all_of(members_.begin(), members_.end(),
                     [&](const Member& m) { return m.stage->value.load(std::memory_order_acquire) >= wanted; });
}

void NodeGroup::leave() {
  reach(turn_, k_left);
  ++turn_;
}

}  // namespace tessera::mpi
