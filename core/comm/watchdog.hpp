// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  telling when a rank waits too long, and who is silent.
// Used: apps, one per rank.
// Must not know: what happens then (the callback decides; a program ends with exit code 80).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/comm/stall_report.hpp"

namespace tessera {

struct WatchdogOptions {
  std::chrono::milliseconds limit{600'000};  ///< how long a wait may last
  FlightLog* own = nullptr;                  ///< of the rank that is watched
  std::vector<const FlightLog*> logs;        ///< of all ranks that can be read, `own` included; outlive the watchdog
  /// Called on the watchdog's thread after the process has not run for a while: it was stopped and woken, or swapped
  /// out, or the machine has no time for it.
  std::function<void(std::chrono::nanoseconds)> was_away = nullptr;
};

/// A thread that looks at the rank's own log several times per limit, shows that the process lives, and calls `report`
/// (on that thread) when a wait has lasted longer than the limit, time in which the process did not run not counted;
/// again after each further limit. Nobody can tell that the only process of a run is stopped; that it was, this thread
/// can.
class Watchdog {
 public:
  Watchdog(WatchdogOptions options, std::function<void(const StallReport&)> report);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();
  void look();
  void return_from(std::chrono::nanoseconds away);
  std::optional<FlightLog::Wait> present_wait();

  WatchdogOptions options_;
  std::function<void(const StallReport&)> report_;
  std::chrono::nanoseconds reported_{0};  // the age of the present wait when it was reported last
  std::chrono::nanoseconds away_{0};      // how much of it the process did not run
  std::int64_t counted_wait_ = 0;         // its start
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tessera
