// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/watchdog.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace tessera {
namespace {

constexpr std::chrono::nanoseconds period_of(std::chrono::nanoseconds limit) {
  using std::chrono::nanoseconds;
  return std::clamp(limit / 10, nanoseconds(std::chrono::milliseconds(5)), nanoseconds(std::chrono::seconds(1)));
}

/// How long a process may be away without a word.
constexpr std::chrono::nanoseconds patience_of(std::chrono::nanoseconds limit) {
  using std::chrono::nanoseconds;
  return std::clamp(limit / 4, 20 * period_of(nanoseconds(0)), nanoseconds(std::chrono::seconds(30)));
}

}  // namespace

Watchdog::Watchdog(WatchdogOptions options, std::function<void(const StallReport&)> report)
    : options_(std::move(options)), report_(std::move(report)) {
  TESSERA_CHECK(options_.own != nullptr && options_.limit.count() > 0, "a watchdog needs a log and a limit");
  options_.own->beat();
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watchdog::run() {
  const std::chrono::nanoseconds period = period_of(options_.limit);
  std::unique_lock lock(mutex_);
  std::int64_t seen = flight_clock();
  while (!wake_.wait_for(lock, period, [this] { return stopping_; })) {
    lock.unlock();
    const std::chrono::nanoseconds away = std::chrono::nanoseconds(flight_clock() - seen) - period;
    if (away > patience_of(options_.limit))
      return_from(away);
    else
      look();
    seen = flight_clock();
    lock.lock();
  }
}

/// The present wait; what is counted of it begins anew with each.
std::optional<FlightLog::Wait> Watchdog::present_wait() {
  const auto wait = options_.own->waiting();
  if (wait && wait->since != counted_wait_) {
    counted_wait_ = wait->since;
    reported_ = away_ = std::chrono::nanoseconds(0);
  }
  return wait;
}

/// The others may have been away too, as where a whole job was suspended: they show themselves before the next look.
void Watchdog::return_from(std::chrono::nanoseconds away) {
  options_.own->beat();
  if (options_.was_away) options_.was_away(away);
  if (const auto wait = present_wait()) away_ += std::min(away, std::chrono::nanoseconds(flight_clock() - wait->since));
}

void Watchdog::look() {
  options_.own->beat();
  const auto wait = present_wait();
  if (!wait) {
    return;
  }
  const std::chrono::nanoseconds age = std::chrono::nanoseconds(flight_clock() - wait->since) - away_;
  if (age - reported_ < options_.limit) {
    return;
  }
  reported_ = age;
  // A live process shows itself once per period.
  const StallReport report =
      explain_stall(options_.logs, *options_.own,
                    std::max<std::chrono::nanoseconds>(options_.limit / 2, 3 * period_of(options_.limit)));
  if (!report.text.empty()) {
    report_(report);
  }
}

}  // namespace tessera
