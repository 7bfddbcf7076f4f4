// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  messages to the people who watch a run, on stderr: time (UTC), severity, rank, topic, text.
// Used: everywhere that something should be said without failing. Results are not messages: apps print those.
// Must not know: MPI; the rank is told. Boost.Log behind it is seen by log.cpp only.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

enum class Severity : std::uint8_t { trace, debug, info, warning, error };

std::string_view name_of(Severity severity);

/// One message, "2026-03-01T10:11:12.345Z info config: 12 options set". Thread-safe; a message is one write. Up to
/// info it is shown by rank 0 only; warnings and errors by every rank, with the rank. `topic` is one word.
void log(Severity severity, std::string_view topic, std::string_view message);

/// Whether such a message would be shown by the calling rank: ask before making an expensive one.
bool log_enabled(Severity severity);

inline void log_debug(std::string_view topic, std::string_view message) {
  log(Severity::debug, topic, message);
}
inline void log_info(std::string_view topic, std::string_view message) {
  log(Severity::info, topic, message);
}
inline void log_warning(std::string_view topic, std::string_view message) {
  log(Severity::warning, topic, message);
}
inline void log_error(std::string_view topic, std::string_view message) {
  log(Severity::error, topic, message);
}

/// Least severe messages that are shown; info to begin with.
void set_log_level(Severity least);

/// Who this process is; rank 0 of 1 to begin with.
void set_log_rank(int rank, int world);

/// The same for the calling thread only, while the object lives: ranks that are threads of one process.
class LogRankScope {
 public:
  LogRankScope(int rank, int world);
  ~LogRankScope();
  LogRankScope(const LogRankScope&) = delete;
  LogRankScope& operator=(const LogRankScope&) = delete;
};

}  // namespace tessera
