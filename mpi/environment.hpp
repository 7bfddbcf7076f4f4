// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the life of MPI in a program: start, who this rank is, end.
// Used: main, before anything that communicates; one object for the whole program.
// Must not know: what the ranks do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/launch.hpp"

namespace tessera::mpi {

/// What MPI allows threads to do.
enum class ThreadLevel : std::uint8_t { single, funneled, serialized, multiple };

/// Where all ranks are. Ranks of one node share memory.
struct RankLayout {
  RankFacts facts;
  int node = 0;  ///< nodes are numbered in the order of their first ranks
  int nodes = 1;
  std::string host;
  std::string launcher;           ///< that started the ranks, see check_launcher
  std::vector<int> node_of_rank;  ///< for every rank of the run
};

/// One line for each node: "node 0 (host a): ranks 0 1 2 3".
std::string describe(const RankLayout& layout);

class Environment {
 public:
  /// Starts MPI, asking for ThreadLevel::multiple. MPI errors are returned from now on, never fatal. Collective. Throws
  /// Error{disagreement}, the same on all ranks, when launcher variables of one contradict MPI.
  Environment(int& argc, char**& argv);

  /// Ends MPI, unless an exception is passing: then other ranks may not come, and the launcher ends the job.
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  ThreadLevel thread_level() const { return thread_level_; }
  const RankLayout& layout() const { return layout_; }
  int rank() const { return layout_.facts.rank; }
  int size() const { return layout_.facts.size; }

  /// Ends all ranks of the job with this exit code. May be called from any thread, e.g. from a watchdog's.
  [[noreturn]] static void abort(int exit_code);

 private:
  ThreadLevel thread_level_ = ThreadLevel::single;
  int exceptions_;
  RankLayout layout_;
};

}  // namespace tessera::mpi
