// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the timeline of a run, step by step, as a trace file per rank.
// Used: the verbs `train` and `bench`.
// Must not know: what instructions do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/ranks.hpp"
#include "core/scheduler/executor.hpp"
#include "core/scheduler/scheduler.hpp"
#include "io/log/trace_writer.hpp"

namespace tessera::apps {

class TraceFile {
 public:
  /// Rank 0 writes `path`, rank r `path`.rank<r>; an empty path writes nothing.
  TraceFile(const std::string& path, Ranks& ranks);

  /// To be given to the engine: the executor records into this object.
  ExecutorOptions executor_options();

  /// Makes room for the events of one step, so that none is made while it runs.
  void reserve(const Compiled& compiled);

  /// A disk that is full ends no training: a warning, and the timeline is over.
  void write_step(const Compiled& compiled, std::int64_t step);
  void close();

 private:
  void try_writing(const std::function<void()>& action);
  void write_events(const Plan& plan, std::int64_t step);

  int rank_;
  std::vector<TraceEvent> events_;
  std::unique_ptr<io::TraceWriter> writer_;
  std::int64_t origin_ = 0;  ///< nanoseconds of the first event
};

}  // namespace tessera::apps
