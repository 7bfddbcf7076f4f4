// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  checking that MPI and the launcher's environment variables tell the same story about ranks. MPI is the truth.
// Used: the environment at start. Pure functions.
// Must not know: MPI calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mpi {

using Variables = std::map<std::string, std::string, std::less<>>;

/// The variables of this process.
Variables environment_variables();

/// Who this rank is, as MPI says; local: among the ranks that share its memory.
struct RankFacts {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
};

/// The launcher whose variables bind, as a word for the log: "Open MPI", "SLURM", … or "none". Throws
/// Error{disagreement} that names the variable, its value and MPI's when a binding variable says something else; in
/// particular when a launcher promised several ranks and MPI sees one (a program and an mpirun of different MPIs).
///
/// Variables of an outer job do not bind. Open MPI's win where they are. SLURM's bind in a task of a job step; under
/// mpirun they describe the batch script (rank 0 of it, whatever the MPI rank), an interactive shell (a step of one
/// task) or the daemons that mpirun starts (a step with one task for each node), and only a step that claims more than
/// that must agree.
std::string check_launcher(const Variables& variables, const RankFacts& facts);

/// How many processes a launcher says that it started, this one included; 1 where none did, or does not say. For
/// programs that do not start MPI.
int launched_processes(const Variables& variables);

/// The rank that a launcher gave this process, if it says so. For what happens before MPI has started.
std::optional<int> launched_rank(const Variables& variables);

/// Reads SLURM's list of tasks for each node, "2(x3),1" = 2 2 2 1. Throws Error{data}.
std::vector<int> parse_tasks_per_node(std::string_view text);

}  // namespace tessera::mpi
