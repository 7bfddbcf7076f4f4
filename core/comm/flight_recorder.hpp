// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which communication calls a rank made last, readable by its peers even when it is stopped.
// Used: communicators write, the watchdog and error messages read.
// Must not know: how calls work, where the memory comes from.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/comm/communicator.hpp"

namespace tessera {

/// One call as its rank made it. Times are those of the monotonic clock of the node, in nanoseconds.
struct CallRecord {
  std::uint64_t sequence = 0;  ///< number of the call, from 1, equal on all who take part (see Communicator)
  CallKind kind = CallKind::barrier;
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::u8;
  std::int64_t count = 0;
  std::uint16_t channel = 0;  ///< of the log that holds the record
  int peer = -1;              ///< rank in the run of the other end or of the root; -1: none
  std::int64_t started = 0;
  std::int64_t finished = 0;  ///< 0: not yet
};

/// Nanoseconds of the clock of records.
std::int64_t flight_clock();

/// The memory of a recorder: plain atomics without pointers, so that it may lie in memory shared by processes. Zeroed
/// memory is a valid, empty log. One thread writes (the heartbeat: any); any number read, at any time.
class FlightLog {
 public:
  static constexpr std::uint64_t k_records = 256;
  static constexpr std::uint16_t k_channels = 128;
  static constexpr std::size_t k_name_bytes = 48;

  /// A communicator that makes calls here. Members are told apart from another group of the same name by `id`.
  struct Channel {
    std::uint64_t id = 0;
    int members = 0;
    std::uint64_t collectives = 0;  ///< collective calls begun
    std::string name;
  };

  struct Wait {
    CallRecord call;
    std::int64_t since = 0;
  };

  int world_rank() const { return world_rank_.load(std::memory_order_acquire); }

  /// Calls begun so far.
  std::uint64_t calls() const { return head_.load(std::memory_order_acquire); }

  /// Call number `index` (from 0), or nothing when it has been overwritten or is just being written.
  std::optional<CallRecord> call(std::uint64_t index) const;

  std::optional<CallRecord> last() const;

  /// The call that the rank waits for now, if it waits.
  std::optional<Wait> waiting() const;

  std::uint16_t channels() const { return channel_count_.load(std::memory_order_acquire); }
  Channel channel(std::uint16_t index) const;

  /// When the process last showed that it runs; 0: nobody shows it.
  std::int64_t heartbeat() const { return heartbeat_.load(std::memory_order_acquire); }
  void beat() { heartbeat_.store(flight_clock(), std::memory_order_release); }

 private:
  friend class FlightRecorder;

  // A reader accepts a record when its version was even and the same before and after: 2 · (index + 1).
  struct alignas(64) Record {
    std::atomic<std::uint64_t> version;
    std::atomic<std::uint64_t> sequence;
    std::atomic<std::uint64_t> description;
    std::atomic<std::int64_t> count;
    std::atomic<std::int64_t> peer;
    std::atomic<std::int64_t> started;
    std::atomic<std::int64_t> finished;
  };
  struct alignas(64) ChannelRecord {
    std::uint64_t id;
    std::int32_t members;
    std::atomic<std::uint64_t> collectives;
    std::array<char, k_name_bytes> name;
  };

  std::atomic<int> world_rank_;
  std::atomic<std::uint16_t> channel_count_;
  std::atomic<std::uint64_t> head_;
  std::atomic<std::uint64_t> waiting_for_;  // index + 1; 0: not waiting
  std::atomic<std::int64_t> waiting_since_;
  std::atomic<std::int64_t> heartbeat_;
  std::array<ChannelRecord, k_channels> channels_;
  std::array<Record, k_records> records_;
};

/// The writing end. For one thread: communicators of another thread need a recorder of their own.
class FlightRecorder {
 public:
  /// `log` is zeroed memory and outlives the recorder.
  FlightRecorder(FlightLog& log, int world_rank);

  /// Adds a channel. Names are cut to what the log holds. Throws Error{internal} when there are too many.
  std::uint16_t add_channel(std::string_view name, std::span<const int> world_ranks);

  /// Records the start of a call (times are set here) and returns its index.
  std::uint64_t begin(const CallRecord& call);
  void end(std::uint64_t index);

  void begin_wait(std::uint64_t index);
  void end_wait();

  /// Nanoseconds in waits that have ended.
  std::int64_t waited() const { return waited_; }

  const FlightLog& log() const { return log_; }

 private:
  FlightLog& log_;
  std::int64_t waited_ = 0;
};

/// "all_reduce sum of 1024 f32, call 17 on tp".
std::string describe(const CallRecord& call, const FlightLog& log);

/// The last call of a rank and how long ago it began and ended, or that it made none.
std::string describe_last(const FlightLog& log);

}  // namespace tessera
