// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what may block for ever where no watchdog can look: the start and the end of MPI.
// Used: Ranks.
// Must not know: what blocks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::apps {

/// Ends this process with ErrorKind::stalled, and the job with it, unless end() comes in time.
class Deadline {
 public:
  /// As begin().
  Deadline(std::string what, double seconds) { begin(std::move(what), seconds); }
  ~Deadline() { end(); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// `what`: "rank 3: MPI_Init"; 0 seconds: never.
  void begin(std::string what, double seconds);
  void end();

 private:
  void wait(std::chrono::steady_clock::time_point last, double seconds);

  std::string what_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace tessera::apps
