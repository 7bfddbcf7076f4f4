// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/nodewise.hpp"

#include <algorithm>
#include <map>

namespace tessera::mpi {
namespace {

/// Parts begin at cache lines, so that members do not write to each other's.
constexpr std::int64_t k_line_bytes = 64;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of_comm(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

UniqueComm split(MPI_Comm comm, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm, color, key, &part), "MPI_Comm_split");
  return UniqueComm(part);
}

}  // namespace

std::unique_ptr<Nodewise> Nodewise::find(MPI_Comm comm, int rank, std::span<const int> world_ranks,
                                         std::span<const int> node_of_rank, const std::shared_ptr<NodeMemory>& memory) {
  std::map<int, std::vector<int>> members;  // by node, as ranks of the run
  int place = 0;                            // of this rank among the members of its node
  const auto node = [&](int world_rank) { return node_of_rank[static_cast<std::size_t>(world_rank)]; };
  for (std::size_t i = 0; i < world_ranks.size(); ++i) {
    std::vector<int>& here = members[node(world_ranks[i])];
    if (static_cast<int>(i) == rank) place = static_cast<int>(here.size());
    here.push_back(world_ranks[i]);
  }
  const std::size_t each = members.begin()->second.size();
  const bool even = std::all_of(members.begin(), members.end(), [&](const auto& m) { return m.second.size() == each; });
  if (members.size() < 2 || each < 2 || !even) return nullptr;
  const int own = node(world_ranks[static_cast<std::size_t>(rank)]);
  UniqueComm on_node = split(comm, own, rank);
  UniqueComm between = split(comm, place, rank);
  std::unique_ptr<NodeGroup> group;
  if (memory != nullptr) group = std::make_unique<NodeGroup>(memory, on_node.get(), place, members[own]);
  return std::unique_ptr<Nodewise>(new Nodewise(std::move(on_node), std::move(between), std::move(group)));
}

Nodewise::Nodewise(UniqueComm node, UniqueComm between, std::unique_ptr<NodeGroup> group)
    : node_(std::move(node)),
      between_(std::move(between)),
      local_rank_(rank_in(node_.get())),
      local_size_(size_of_comm(node_.get())),
      node_rank_(rank_in(between_.get())),
      nodes_(size_of_comm(between_.get())),
      group_(std::move(group)) {}

bool Nodewise::serves(const Request& request) {
  return request.kind == CallKind::all_reduce && request.in.dtype != DType::bf16 && request.in.dtype != DType::f16;
}

std::array<Stage, 3> Nodewise::stages(const Request& request, std::int64_t piece_bytes,
                                      std::vector<std::int64_t>& parts) {
  const View all = request.out;
  const std::int64_t bytes = size_of(all.dtype), line = k_line_bytes / bytes;
  const std::int64_t each = ((all.count + local_size_ - 1) / local_size_ + line - 1) / line * line;
  const auto first = [&](int member) { return std::min(member * each, all.count); };
  parts.clear();
  for (int member = 0; member < local_size_; ++member) parts.push_back(first(member + 1) - first(member));
  const View own{static_cast<std::byte*>(all.data) + first(local_rank_) * bytes,
                 first(local_rank_ + 1) - first(local_rank_), all.dtype};
  const std::uint64_t call = calls_++;
  const auto within = [&](std::uint64_t number, const Request& what) {
    return Stage{
        {local_rank_, local_size_, {node_.get(), tag_of_call(number), piece_bytes}}, what, group_.get(), number};
  };
  return {within(2 * call, {.kind = CallKind::reduce_scatter,
                            .op = request.op,
                            .in = all,
                            .out = own,
                            .receive_counts = parts,
                            .workspace = request.workspace}),
          Stage{{node_rank_, nodes_, {between_.get(), tag_of_call(call), piece_bytes}},
                {.kind = CallKind::all_reduce, .op = request.op, .in = own, .out = own, .workspace = request.workspace},
                nullptr,
                0},
          within(2 * call + 1, {.kind = CallKind::all_gather, .in = own, .out = all, .receive_counts = parts})};
}

}  // namespace tessera::mpi
