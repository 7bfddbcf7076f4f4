// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/stall_report.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace tessera {
namespace {

using Logs = std::vector<const FlightLog*>;

/// The members of a waiting rank's call that can be read, by what they have done about it.
struct Members {
  Logs stale;    // no sign of life
  Logs behind;   // have not come to the call
  Logs arrived;  // have come, and do something else
  int unread = 0;
};

class Search {
 public:
  Search(std::span<const FlightLog* const> logs, std::chrono::nanoseconds stale_after)
      : logs_(logs), stale_after_(stale_after.count()), now_(flight_clock()) {}

  /// Adds to `culprits` the ranks that hold up `waiter`.
  void follow(const FlightLog& waiter, Logs& path) {
    const auto wait = waiter.waiting();
    if (!wait) {  // busy with something else
      add(culprits, &waiter);
      return;
    }
    if (const auto met = std::find(path.begin(), path.end(), &waiter); met != path.end()) {
      std::for_each(met, path.end(), [&](const FlightLog* log) { add(culprits, log); });
      return;
    }
    if (contains(followed_, &waiter)) return;  // from there all has been found
    followed_.push_back(&waiter);
    path.push_back(&waiter);
    const Members members = members_of(waiter, wait->call);
    unread += members.unread;
    if (!members.stale.empty()) {
      std::for_each(members.stale.begin(), members.stale.end(), [&](const FlightLog* log) { add(culprits, log); });
    } else if (!members.behind.empty()) {
      std::for_each(members.behind.begin(), members.behind.end(), [&](const FlightLog* log) { follow(*log, path); });
    } else {
      std::for_each(members.arrived.begin(), members.arrived.end(), [&](const FlightLog* log) { add(culprits, log); });
    }
    path.pop_back();
  }

  bool is_stale(const FlightLog& log) const { return log.heartbeat() != 0 && now_ - log.heartbeat() > stale_after_; }

  std::int64_t now() const { return now_; }

  Logs culprits;
  int unread = 0;  // members whose logs cannot be read

 private:
  static bool contains(const Logs& logs, const FlightLog* log) {
    return std::find(logs.begin(), logs.end(), log) != logs.end();
  }
  static void add(Logs& logs, const FlightLog* log) {
    if (!contains(logs, log)) {
      logs.push_back(log);
    }
  }

  Members members_of(const FlightLog& waiter, const CallRecord& call) const {
    const FlightLog::Channel channel = waiter.channel(call.channel);
    Members members;
    int read = 0;
    for (const FlightLog* log : logs_) {
      const bool asked = is_collective(call.kind) ? log != &waiter : log->world_rank() == call.peer;
      if (!asked) {
        continue;
      }
      const auto reached = calls_reached(*log, channel, call, waiter.world_rank());
      if (!reached) {
        continue;
      }
      ++read;
      if (is_stale(*log)) {
        members.stale.push_back(log);
      } else if (*reached < call.sequence) {
        members.behind.push_back(log);
      } else if (!log->waiting()) {
        members.arrived.push_back(log);
      }
    }
    members.unread = (is_collective(call.kind) ? channel.members - 1 : 1) - read;
    return members;
  }

  /// How far a rank has come in the sequence that `call` is part of; nothing when it is not of the group.
  static std::optional<std::uint64_t> calls_reached(const FlightLog& log, const FlightLog::Channel& wanted,
                                                    const CallRecord& call, int waiting_rank) {
    for (std::uint16_t index = 0; index < log.channels(); ++index) {
      const FlightLog::Channel channel = log.channel(index);
      if (channel.id != wanted.id) {
        continue;
      }
      return is_collective(call.kind) ? channel.collectives : messages_reached(log, index, call, waiting_rank);
    }
    return std::nullopt;
  }

  /// The newest message of the other direction between the two. One so old that its record is overwritten counts as 0:
  /// then the rank is named with what it did last, which is right more often than silence.
  static std::uint64_t messages_reached(const FlightLog& log, std::uint16_t channel, const CallRecord& call,
                                        int waiting_rank) {
    const CallKind other = call.kind == CallKind::send ? CallKind::receive : CallKind::send;
    const std::uint64_t made = log.calls();
    for (std::uint64_t back = 1; back <= std::min(made, FlightLog::k_records); ++back) {
      const auto record = log.call(made - back);
      if (record && record->channel == channel && record->kind == other && record->peer == waiting_rank) {
        return record->sequence;
      }
    }
    return 0;
  }

  std::span<const FlightLog* const> logs_;
  std::int64_t stale_after_;
  std::int64_t now_;
  Logs followed_;
};

std::string tell(const Search& search, const FlightLog& log) {
  if (search.is_stale(log)) {
    return fmt::format("{}; no sign of life for {:.1f} s: the process is stopped, swapping or dead", describe_last(log),
                       static_cast<double>(search.now() - log.heartbeat()) * 1e-9);
  }
  const auto wait = log.waiting();
  return wait ? fmt::format("{}; it waits in {}", describe_last(log), describe(wait->call, log)) : describe_last(log);
}

}  // namespace

StallReport explain_stall(std::span<const FlightLog* const> logs, const FlightLog& own,
                          std::chrono::nanoseconds stale_after) {
  StallReport report;
  const auto wait = own.waiting();
  if (!wait) {
    return report;
  }
  Search search(logs, stale_after);
  Logs path;
  search.follow(own, path);
  report.waiting_rank = own.world_rank();
  report.seconds = static_cast<double>(search.now() - wait->since) * 1e-9;
  report.call = wait->call;
  report.channel = own.channel(wait->call.channel).name;
  report.text =
      fmt::format("rank {} has waited {:.1f} s in {}.", report.waiting_rank, report.seconds, describe(wait->call, own));
  for (const FlightLog* log : search.culprits) {
    report.silent_ranks.push_back(log->world_rank());
    report.text += fmt::format(" Silent is {}.", tell(search, *log));
  }
  if (search.culprits.empty()) {
    report.text +=
        search.unread > 0
            ? fmt::format(" Of the ranks that it waits for, {} cannot be read from this node.", search.unread)
            : std::string(
                  " All ranks that it waits for wait too by now: one of them was held up, or the transport is stuck.");
  }
  return report;
}

}  // namespace tessera
