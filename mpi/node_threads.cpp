// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include "mpi/native.hpp"
#include "mpi/world.hpp"

namespace tessera::mpi {

ThreadChoice choose_threads(const Environment& environment) {
  const Cores own = find_cores();
  const RankFacts& facts = environment.layout().facts;
  MPI_Comm handle = MPI_COMM_NULL;
  check(MPI_Comm_split(MPI_COMM_WORLD, environment.layout().node, facts.rank, &handle), "MPI_Comm_split");
  const UniqueComm node(handle);
  const auto ranks = static_cast<std::size_t>(facts.local_size);
  const int count = static_cast<int>(own.allowed.size());
  std::vector<int> counts(ranks);
  check(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, handle), "MPI_Allgather");
  std::vector<int> firsts(ranks);
  std::exclusive_scan(counts.begin(), counts.end(), firsts.begin(), 0);
  std::vector<int> all(static_cast<std::size_t>(firsts.back() + counts.back()));
  check(MPI_Allgatherv(own.allowed.data(), count, MPI_INT, all.data(), counts.data(), firsts.data(), MPI_INT, handle),
        "MPI_Allgatherv");
  std::vector<CoreSet> cores;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = all.begin() + firsts[rank];
    cores.emplace_back(first, first + counts[rank]);
  }
  const char* variable = std::getenv("OMP_NUM_THREADS");
  return choose_threads(cores, facts.local_rank, own.machine,
                        variable == nullptr ? std::nullopt : std::optional<std::string>(variable));
}

}  // namespace tessera::mpi
