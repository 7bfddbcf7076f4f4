// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  who can ask a run to stop: signals to any rank, a file, a time limit; and how all ranks come to know.
// Used: the verb `train`.
// Must not know: what is done when the run stops.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "apps/ranks.hpp"

namespace tessera::apps {

class StopRequests {
 public:
  /// Catches SIGUSR1, SIGUSR2, SIGTERM, SIGINT and SIGHUP from now on, where they are not ignored. Made before MPI
  /// starts, which takes a while.
  StopRequests();
  ~StopRequests();
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

  /// From now on, until begin(), requests end the process at once, as stopped: there is nothing to save. So do those
  /// that have come before.
  void mpi_started();

  /// From now on requests are remembered until somebody asks. `stop_file` (may be empty) is looked for by rank 0;
  /// `seconds` is the time limit since the start, 0: none.
  void begin(Ranks& ranks, std::filesystem::path stop_file, double seconds);

  /// Whether any rank was asked; the answer is the same on all. After begin(). Collective.
  bool asked();

  /// The file has been obeyed: it does not stop the next run. A warning where it cannot be removed.
  void remove_stop_file() const;

  /// What asked this rank, for the log; empty when it was another.
  const std::string& reason() const { return reason_; }

 private:
  std::string look() const;

  Ranks* ranks_ = nullptr;
  std::filesystem::path stop_file_;
  std::chrono::steady_clock::time_point start_, end_;
  bool limited_ = false;
  std::string reason_;
};

}  // namespace tessera::apps
