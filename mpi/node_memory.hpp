// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  memory of this rank that the other ranks of its node read in place, so that collective calls on it move every
//       byte once instead of through messages.
// Used: a program gives it to its host device and to the world communicator; communicators find buffers in it.
// Must not know: what is stored.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/host_memory.hpp"
#include "mpi/environment.hpp"
#include "mpi/node_bell.hpp"

namespace tessera::mpi {

/// Each rank has a file in memory, without a name, so that nothing stays behind when a job is killed. All ranks of the
/// node map each other's once, for as many bytes as the node has; the file grows with what is allocated.
class NodeMemory final : public HostMemory {
 public:
  /// Collective. Throws Error{resources}, on all ranks of a node, where processes cannot open each other's files.
  explicit NodeMemory(const Environment& environment);
  ~NodeMemory() override;

  void* allocate(std::int64_t bytes) override;

  /// Gives the pages back; the addresses are not used again.
  void release(void* memory) noexcept override;

  /// Where a range lies in this rank's file, if it lies there.
  std::optional<std::uint64_t> offset_of(const void* data, std::int64_t bytes) const;

  /// The same place of a rank's file, in this process.
  std::byte* at(int local_rank, std::uint64_t offset) const {
    return bases_[static_cast<std::size_t>(local_rank)] + offset;
  }

  /// The ranks of the run that are on this node, ascending: the index is the local rank.
  const std::vector<int>& world_ranks() const { return world_ranks_; }

  /// Of a rank of the run that is on this node.
  int local_rank(int world_rank) const;

  /// Where a rank of this node sleeps.
  NodeBell& bell(int local_rank) const;
  NodeBell& own_bell() const { return bell(own_); }

 private:
  class File;

  void map_peers(const RankFacts& facts, int node);
  void close() noexcept;

  std::vector<int> world_ranks_;
  int own_ = 0;
  std::unique_ptr<File> file_;
  std::size_t span_ = 0;  // bytes of address space for each file
  std::vector<std::byte*> bases_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks_;  // offset and bytes of what is allocated
  std::uint64_t end_ = 0;
};

/// For programs: the memory, or null on all ranks with a sentence why, when no two ranks share a node or the system
/// does not let them share memory. Collective.
std::shared_ptr<NodeMemory> find_node_memory(const Environment& environment, std::string& why_not);

}  // namespace tessera::mpi
