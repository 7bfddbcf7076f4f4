// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/deadline.hpp"

#include <unistd.h>

#include <cstdint>

#include <fmt/core.h>

#include "apps/report.hpp"

namespace tessera::apps {

void Deadline::begin(std::string what, double seconds) {
  end();
  if (seconds <= 0) return;
  what_ = std::move(what);
  done_ = false;
  const auto last =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  thread_ = std::thread([this, last, seconds] { wait(last, seconds); });
}

void Deadline::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Deadline::wait(std::chrono::steady_clock::time_point last, double seconds) {
  std::unique_lock lock(mutex_);
  if (ended_.wait_until(lock, last, [this] { return done_; })) return;
  show_error(Error(ErrorKind::stalled, fmt::format("{} has not returned for {:.1f} s", what_, seconds),
                   "look for ranks that are missing, stopped or stuck; train.watchdog sets the limit"));
  ::_exit(static_cast<int>(ErrorKind::stalled));
}

}  // namespace tessera::apps
