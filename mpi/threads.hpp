// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  how many threads a rank may use for its kernels.
// Used: the start of a run.
// Must not know: MPI calls, OpenMP.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::mpi {

/// Indices of cores (not hardware threads), ascending.
using CoreSet = std::vector<int>;

struct Cores {
  CoreSet allowed;  ///< those that the calling thread may run on
  int machine = 0;  ///< how many the machine has
};
Cores find_cores();

/// "2 threads per rank"
std::string threads_per_rank(int threads);

struct ThreadChoice {
  int threads = 1;
  std::string reason;  ///< a sentence for the log
};

/// `cores`: of every rank of this node, in order of local ranks. A rank shares its cores evenly with the ranks whose
/// cores overlap its own. `omp_num_threads`: the variable, which wins (its first number; throws Error{configuration}
/// when it is none).
ThreadChoice choose_threads(std::span<const CoreSet> cores, int local_rank, int machine_cores,
                            const std::optional<std::string>& omp_num_threads);

}  // namespace tessera::mpi
