// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/trace_files.hpp"

#include <map>

#include <fmt/core.h>

namespace tessera::apps {
namespace {

std::string layer_name(std::int32_t layer) {
  if (layer == k_embedding) return "embedding";
  if (layer == k_head) return "head";
  return fmt::format("layer {}", layer);
}

}  // namespace

TraceFile::TraceFile(const std::string& path, Ranks& ranks) : rank_(ranks.environment().rank()) {
  if (path.empty()) return;
  ranks.agreed(
      [&] { writer_ = std::make_unique<io::TraceWriter>(rank_ == 0 ? path : fmt::format("{}.rank{}", path, rank_)); });
  writer_->name_rank(rank_, fmt::format("rank {}", rank_));
  for (StreamRole role : {StreamRole::compute, StreamRole::collective})
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

/// A call is shown on its stream from its post to the wait that ends it; on the compute stream its post is not shown.
void TraceFile::write_step(const Compiled& compiled, std::int64_t step) {
  if (!writer_ || events_.empty()) return;
  const Plan& plan = compiled.plan;
  if (origin_ == 0) origin_ = events_[0].begin;
  std::map<std::int32_t, std::pair<const TraceEvent*, std::string>> posted;
  auto write = [&](const std::string& name, const std::string& category, std::int64_t begin, std::int64_t end,
                   StreamRole stream) {
    writer_->event(name, category, static_cast<double>(begin - origin_) * 1e-3, static_cast<double>(end - begin) * 1e-3,
                   rank_, static_cast<int>(stream));
  };
  for (const TraceEvent& event : events_) {
    const Instruction& instruction = plan.code[static_cast<std::size_t>(event.instruction)];
    const Action& action = plan.actions[static_cast<std::size_t>(event.action)];
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    const std::string category = fmt::format("step {} {} {}", step, name_of(program.kind), action.micro_batch);
    const std::string name =
        fmt::format("{} {}", plan.names[static_cast<std::size_t>(instruction.name)], layer_name(instruction.layer));
    if (instruction.kind == Instruction::Kind::post) {
      posted[instruction.event] = {&event, name};
      continue;
    }
    if (instruction.kind == Instruction::Kind::wait) {
      if (const auto found = posted.find(instruction.event); found != posted.end())
        write(found->second.second, category, found->second.first->begin, event.end, StreamRole::collective);
    }
    write(name, category, event.begin, event.end, instruction.stream);
  }
}

void TraceFile::close() {
  if (writer_) writer_->close();
}

}  // namespace tessera::apps
