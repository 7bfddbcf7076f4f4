// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/trace_files.hpp"

#include <map>

#include <fmt/core.h>

#include "apps/event_names.hpp"
#include "core/base/log.hpp"

namespace tessera::apps {
TraceFile::TraceFile(const std::string& path, Ranks& ranks) : rank_(ranks.environment().rank()) {
  if (path.empty()) return;
  ranks.agreed(
      [&] { writer_ = std::make_unique<io::TraceWriter>(rank_ == 0 ? path : fmt::format("{}.rank{}", path, rank_)); });
  writer_->name_rank(rank_, fmt::format("rank {}", rank_));
  for (StreamRole role : {StreamRole::compute, StreamRole::collective, StreamRole::pipeline})
    writer_->name_stream(rank_, static_cast<int>(role), name_of(role));
}

ExecutorOptions TraceFile::executor_options() {
  ExecutorOptions options;
  if (writer_) options.trace = &events_;
  return options;
}

void TraceFile::reserve(const Compiled& compiled) {
  if (!writer_) return;
  std::size_t count = 0;
  for (const Action& action : compiled.plan.actions)
    count += static_cast<std::size_t>(compiled.plan.programs[static_cast<std::size_t>(action.program)].count);
  events_.reserve(count);
}

void TraceFile::write_step(const Compiled& compiled, std::int64_t step) {
  if (!events_.empty()) try_writing([&] { write_events(compiled.plan, step); });
}

/// A call is shown on its stream from its post to the wait that ends it; on the compute stream its post is not shown.
void TraceFile::write_events(const Plan& plan, std::int64_t step) {
  if (origin_ == 0) origin_ = events_[0].begin;
  std::map<std::int32_t, const TraceEvent*> posted;
  auto write = [&](const Instruction& what, const Action& action, std::int64_t begin, std::int64_t end) {
    writer_->event(event_name(plan, what), event_category(plan, action, step),
                   static_cast<double>(begin - origin_) * 1e-3, static_cast<double>(end - begin) * 1e-3, rank_,
                   static_cast<int>(what.stream));
  };
  for (const TraceEvent& event : events_) {
    const Instruction& instruction = plan.code[static_cast<std::size_t>(event.instruction)];
    const Action& action = plan.actions[static_cast<std::size_t>(event.action)];
    if (instruction.kind == Instruction::Kind::post) {
      posted[event_in(instruction, action)] = &event;
      continue;
    }
    if (instruction.kind == Instruction::Kind::wait)
      if (const auto found = posted.find(event_in(instruction, action)); found != posted.end())
        write(plan.code[static_cast<std::size_t>(found->second->instruction)], action, found->second->begin, event.end);
    write(instruction, action, event.begin, event.end);
  }
}

void TraceFile::close() {
  try_writing([&] { writer_->close(); });
}

void TraceFile::try_writing(const std::function<void()>& action) {
  if (!writer_) return;
  try {
    action();
  } catch (const Error& error) {
    writer_.reset();
    log_warning("trace", fmt::format("the timeline ends here: {}. The run goes on. {}", error.what(), error.hint()));
  }
}

}  // namespace tessera::apps
