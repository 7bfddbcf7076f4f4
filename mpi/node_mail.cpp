// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_mail.hpp"

#include <new>

#include "mpi/node_block.hpp"

namespace tessera::mpi {

// Every member has a block: for each other one a counter of messages sent to it, one of messages taken from it, and a
// ring of messages to it. Pages of rings that are not used are never there.
NodeMail::NodeMail(std::shared_ptr<NodeMemory> memory, MPI_Comm comm, int rank, std::span<const int> world_ranks)
    : memory_(std::move(memory)) {
  const std::size_t n = world_ranks.size();
  const std::size_t ring_bytes = k_ring * sizeof(NodeParcel);
  const NodeBlock block(*memory_, comm, n * (2 * sizeof(Counter) + ring_bytes));
  const auto lane = [&](std::size_t sender, std::size_t receiver) {
    std::byte* senders = block.of(memory_->local_rank(world_ranks[sender]), sender);
    std::byte* receivers = block.of(memory_->local_rank(world_ranks[receiver]), receiver);
    Lane made;
    made.local_rank = memory_->local_rank(world_ranks[sender]);
    made.sent = std::launder(reinterpret_cast<Counter*>(senders + receiver * sizeof(Counter)));
    made.taken = std::launder(reinterpret_cast<Counter*>(receivers + (n + sender) * sizeof(Counter)));
    made.ring = std::launder(reinterpret_cast<NodeParcel*>(senders + 2 * n * sizeof(Counter) + receiver * ring_bytes));
    return made;
  };
  const auto own = static_cast<std::size_t>(rank);
  for (std::size_t peer = 0; peer < n; ++peer)
    peers_.push_back({memory_->local_rank(world_ranks[peer]), lane(own, peer), lane(peer, own)});
}

std::optional<NodeParcel::Place> NodeMail::try_send(int to, std::uint64_t message, ConstView in) {
  const Lane& lane = at(to).to;
  if (lane.sent->messages.load(std::memory_order_relaxed) != message ||
      (message >= k_ring && !taken(to, message - k_ring)))
    return std::nullopt;
  NodeParcel& parcel = lane.ring[message % k_ring];
  parcel.put(*memory_, in);
  const NodeParcel::Place place = parcel.place();  // the receiver may free the parcel as soon as it is shown
  lane.sent->messages.store(message + 1, std::memory_order_release);
  NodeBell::announce();
  memory_->bell(at(to).local_rank).ring();
  return place;
}

bool NodeMail::taken(int to, std::uint64_t message) const {
  return at(to).to.taken->messages.load(std::memory_order_acquire) > message;
}

std::optional<ConstView> NodeMail::arrived(int from, std::uint64_t message) const {
  const Lane& lane = at(from).from;
  if (lane.taken->messages.load(std::memory_order_relaxed) != message ||
      lane.sent->messages.load(std::memory_order_acquire) <= message)
    return std::nullopt;
  return lane.ring[message % k_ring].view(*memory_, lane.local_rank);
}

void NodeMail::take(int from, std::uint64_t message) {
  at(from).from.taken->messages.store(message + 1, std::memory_order_release);
  NodeBell::announce();
  memory_->bell(at(from).local_rank).ring();
}

}  // namespace tessera::mpi
