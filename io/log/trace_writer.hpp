// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  timelines that Perfetto and chrome://tracing show.
// Used: `train.trace`, `tessera plan --timeline`.
// Must not know: who measured or simulated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/file.hpp"

namespace tessera::io {

/// Streams events in the Trace Event Format, as an array, which viewers also read when its end is missing after a
/// crash. Processes are ranks, threads are streams. Allocates nothing per event.
class TraceWriter {
 public:
  /// At most `max_events` are written, so that a trace cannot fill a disk; the rest is counted.
  explicit TraceWriter(const std::filesystem::path& path, std::int64_t max_events = 10'000'000);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void name_rank(int rank, std::string_view name);
  void name_stream(int rank, int stream, std::string_view name);

  /// Something that took from `start` to `start + duration`, in microseconds.
  void event(std::string_view name, std::string_view category, double start, double duration, int rank, int stream);

  /// Events beyond the limit.
  std::int64_t left_out() const { return left_out_; }

  /// Ends the array and closes the file. Throws Error{io}. The destructor does so silently.
  void close();

 private:
  void begin(std::string_view name, std::string_view category, char phase, int rank, int stream);
  void metadata(std::string_view kind, int rank, int stream, std::string_view name);
  void end();

  File file_;
  std::string buffer_;
  std::int64_t events_ = 0;
  std::int64_t max_events_;
  std::int64_t left_out_ = 0;
  bool open_ = true;
};

}  // namespace tessera::io
