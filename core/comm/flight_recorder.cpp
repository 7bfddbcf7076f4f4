// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/flight_recorder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "core/base/error.hpp"

namespace tessera {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr auto k_acquire = std::memory_order_acquire;
constexpr auto k_release = std::memory_order_release;

std::uint64_t pack(const CallRecord& call) {
  return static_cast<std::uint64_t>(call.kind) | static_cast<std::uint64_t>(call.op) << 8 |
         static_cast<std::uint64_t>(call.dtype) << 16 | static_cast<std::uint64_t>(call.channel) << 32;
}

void unpack(std::uint64_t description, CallRecord& call) {
  call.kind = static_cast<CallKind>(description & 0xff);
  call.op = static_cast<ReduceOp>(description >> 8 & 0xff);
  call.dtype = static_cast<DType>(description >> 16 & 0xff);
  call.channel = static_cast<std::uint16_t>(description >> 32);
}

/// FNV-1a over the name and the members.
std::uint64_t channel_id(std::string_view name, std::span<const int> world_ranks) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3U; };
  for (const char c : name) {
    mix(static_cast<unsigned char>(c));
  }
  mix(0x100);
  for (const int rank : world_ranks) {
    mix(static_cast<std::uint64_t>(rank));
  }
  return hash;
}

double seconds_since(std::int64_t time) {
  return static_cast<double>(flight_clock() - time) * 1e-9;
}

}  // namespace

std::int64_t flight_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::optional<CallRecord> FlightLog::call(std::uint64_t index) const {
  const Record& record = records_[index % k_records];
  const std::uint64_t version = record.version.load(k_acquire);
  if (version != 2 * (index + 1)) {
    return std::nullopt;
  }
  CallRecord call;
  call.sequence = record.sequence.load(k_acquire);
  unpack(record.description.load(k_acquire), call);
  call.count = record.count.load(k_acquire);
  call.peer = static_cast<int>(record.peer.load(k_acquire));
  call.started = record.started.load(k_acquire);
  call.finished = record.finished.load(k_acquire);
  if (record.version.load(k_relaxed) != version) {
    return std::nullopt;
  }
  return call;
}

std::optional<CallRecord> FlightLog::last() const {
  const std::uint64_t made = calls();
  return made == 0 ? std::nullopt : call(made - 1);
}

std::optional<FlightLog::Wait> FlightLog::waiting() const {
  const std::uint64_t index = waiting_for_.load(k_acquire);
  const std::int64_t since = waiting_since_.load(k_acquire);
  const auto awaited = index == 0 ? std::nullopt : call(index - 1);
  // Another wait may have begun between the two loads.
  if (!awaited || waiting_for_.load(k_acquire) != index) {
    return std::nullopt;
  }
  return Wait{*awaited, since};
}

FlightLog::Channel FlightLog::channel(std::uint16_t index) const {
  TESSERA_CHECK(index < channels(), fmt::format("channel {} of {}", index, channels()));
  const ChannelRecord& record = channels_[index];
  return {record.id, record.members, record.collectives.load(k_acquire), std::string(record.name.data())};
}

FlightRecorder::FlightRecorder(FlightLog& log, int world_rank) : log_(log) {
  log_.world_rank_.store(world_rank, k_release);
}

std::uint16_t FlightRecorder::add_channel(std::string_view name, std::span<const int> world_ranks) {
  const std::uint16_t index = log_.channel_count_.load(k_relaxed);
  TESSERA_CHECK(index < FlightLog::k_channels, fmt::format("the flight recorder holds {} channels", index));
  FlightLog::ChannelRecord& record = log_.channels_[index];
  record.id = channel_id(name, world_ranks);
  record.members = static_cast<std::int32_t>(world_ranks.size());
  const std::size_t length = std::min(name.size(), record.name.size() - 1);
  std::copy_n(name.begin(), length, record.name.begin());
  record.name[length] = '\0';
  log_.channel_count_.store(static_cast<std::uint16_t>(index + 1), k_release);
  return index;
}

std::uint64_t FlightRecorder::begin(const CallRecord& call) {
  const std::uint64_t index = log_.head_.load(k_relaxed);
  FlightLog::Record& record = log_.records_[index % FlightLog::k_records];
  record.version.store(2 * index + 1, k_relaxed);
  record.sequence.store(call.sequence, k_release);
  record.description.store(pack(call), k_release);
  record.count.store(call.count, k_release);
  record.peer.store(call.peer, k_release);
  record.started.store(flight_clock(), k_release);
  record.finished.store(0, k_release);
  record.version.store(2 * (index + 1), k_release);
  if (is_collective(call.kind)) {
    log_.channels_[call.channel].collectives.store(call.sequence, k_release);
  }
  log_.head_.store(index + 1, k_release);
  return index;
}

void FlightRecorder::end(std::uint64_t index) {
  FlightLog::Record& record = log_.records_[index % FlightLog::k_records];
  if (record.version.load(k_relaxed) == 2 * (index + 1)) {
    record.finished.store(flight_clock(), k_release);
  }
}

void FlightRecorder::begin_wait(std::uint64_t index) {
  log_.waiting_since_.store(flight_clock(), k_release);
  log_.waiting_for_.store(index + 1, k_release);
}

void FlightRecorder::end_wait() {
  waited_ += flight_clock() - log_.waiting_since_.load(std::memory_order_relaxed);
  log_.waiting_for_.store(0, k_release);
}

std::string describe(const CallRecord& call, const FlightLog& log) {
  const std::string channel = log.channel(call.channel).name;
  const bool reduces = call.kind == CallKind::all_reduce || call.kind == CallKind::reduce_scatter;
  std::string text(name_of(call.kind));
  if (reduces) {
    text += fmt::format(" {}", name_of(call.op));
  }
  if (call.kind < CallKind::barrier) {
    text += fmt::format(" of {} {}", call.count, name_of(call.dtype));
  }
  if (call.peer >= 0) {
    const std::string_view relation = call.kind == CallKind::send      ? "to"
                                      : call.kind == CallKind::receive ? "from"
                                                                       : "by";
    text += fmt::format(" {} rank {}", relation, call.peer);
  }
  return text + fmt::format(", call {} on {}", call.sequence, channel);
}

std::string describe_last(const FlightLog& log) {
  const auto call = log.last();
  if (!call) {
    return fmt::format("rank {} has made no call", log.world_rank());
  }
  const std::string state =
      call->finished == 0 ? "not finished" : fmt::format("finished {:.1f} s ago", seconds_since(call->finished));
  return fmt::format("rank {}: last call {} (begun {:.1f} s ago, {})", log.world_rank(), describe(*call, log),
                     seconds_since(call->started), state);
}

}  // namespace tessera
