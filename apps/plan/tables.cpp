// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/plan/tables.hpp"

#include <fmt/core.h>

#include <array>
#include <map>
#include <set>

namespace tessera::apps {
namespace {

constexpr std::array k_kinds{ProgramKind::count,  ProgramKind::seed,    ProgramKind::forward, ProgramKind::backward,
                             ProgramKind::weight, ProgramKind::receive, ProgramKind::send,    ProgramKind::sent,
                             ProgramKind::reduce, ProgramKind::update};

bool is_turn(ProgramKind kind) {
  return kind == ProgramKind::forward || kind == ProgramKind::backward || kind == ProgramKind::weight;
}

const Program& program_of(const Plan& plan, const Action& action) {
  return plan.programs[static_cast<std::size_t>(action.program)];
}

/// Calls visit(instruction, call) for what a program posts. Bodies that are repeated run where experts get more rows
/// than planned: nobody knows how often.
template <class Visit>
void for_each_call(const Plan& plan, const Program& program, Visit visit) {
  if (program.repeat >= 0) return;
  for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
    const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
    if (instruction.kind == Instruction::Kind::post)
      visit(instruction, plan.calls[static_cast<std::size_t>(instruction.call)]);
  }
}

struct Calls {
  std::int64_t count = 0, bytes = 0;
  friend bool operator==(const Calls&, const Calls&) = default;
};

std::string name_of_call(const Plan& plan, const Instruction& instruction) {
  return plan.names[static_cast<std::size_t>(instruction.name)];
}

/// "0-3", "7"
std::string range_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string layer_text(int first, int last) {
  if (first == k_embedding) return "embedding";
  return first == k_head ? "head" : range_text(first, last);
}

/// The layers of a stage, chunk by chunk.
std::string layers_of(const ChunkMap& map, int stage, std::int64_t layers) {
  if (map.layers.empty()) return range_text(0, layers - 1);
  std::string text;
  for (std::size_t first = 0; first < map.layers.size();) {
    std::size_t end = first;
    while (end < map.layers.size() && map.layers[end] == map.layers[first]) ++end;
    if (map.stage(map.layers[first]) == stage)
      text +=
          (text.empty() ? "" : ", ") + range_text(static_cast<std::int64_t>(first), static_cast<std::int64_t>(end) - 1);
    first = end;
  }
  return text;
}

}  // namespace

Table stages_table(std::span<const StepPlans> stages, std::int64_t layers) {
  Table table{"stages",
              "stages",
              {{"stage", "stage"},
               {"rank", "rank"},
               {"layers", "layers"},
               {"instructions", "instructions"},
               {"actions", "actions"},
               {"calls", "calls of a step"},
               {"bytes", "handed over"}}};
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const Plan& plan = stages[s].training.plan;
    Calls calls;
    for (const Action& action : plan.actions)
      for_each_call(plan, program_of(plan, action), [&](const Instruction&, const Call& call) {
        ++calls.count;
        calls.bytes += call.bytes;
      });
    table.add({static_cast<std::int64_t>(s), plan.rank, layers_of(stages[s].pipeline.map, static_cast<int>(s), layers),
               static_cast<std::int64_t>(plan.code.size()), static_cast<std::int64_t>(plan.actions.size()), calls.count,
               Cell::bytes(calls.bytes)});
  }
  return table;
}

Table memory_table(std::span<const StepPlans> stages) {
  std::vector<MemoryPlan> plans;
  for (const StepPlans& stage : stages) plans.push_back(planned_memory(stage));
  Table table{"memory", "planned peak of memory", {{"stage", "stage"}}};
  std::vector<Tag> tags;
  for (int t = 0; t < k_tags; ++t) {
    const auto tag = static_cast<Tag>(t);
    bool used = false;
    for (const MemoryPlan& plan : plans) used |= plan[tag] > 0;
    if (!used) continue;
    tags.push_back(tag);
    table.columns.push_back({std::string(name_of(tag)), std::string(name_of(tag))});
  }
  table.columns.push_back({"arena", "arena"});
  for (std::size_t s = 0; s < plans.size(); ++s) {
    std::vector<Cell> row{static_cast<std::int64_t>(s)};
    for (Tag tag : tags) row.push_back(Cell::bytes(plans[s][tag]));
    row.push_back(Cell::bytes(plans[s].total()));
    table.add(std::move(row));
  }
  return table;
}

Table actions_table(std::span<const StepPlans> stages) {
  Table table{"programs", "programs that a stage runs in a step", {{"stage", "stage"}}};
  for (ProgramKind kind : k_kinds) table.columns.push_back({std::string(name_of(kind)), std::string(name_of(kind))});
  for (std::size_t s = 0; s < stages.size(); ++s) {
    std::map<ProgramKind, std::int64_t> counts;
    const Plan& plan = stages[s].training.plan;
    for (const Action& action : plan.actions) ++counts[program_of(plan, action).kind];
    std::vector<Cell> row{static_cast<std::int64_t>(s)};
    for (ProgramKind kind : k_kinds) row.emplace_back(counts[kind]);
    table.add(std::move(row));
  }
  return table;
}

Table layer_calls_table(std::span<const StepPlans> stages) {
  std::map<std::pair<ProgramKind, std::string>, std::map<int, Calls>> calls;
  for (const StepPlans& stage : stages) {
    const Plan& plan = stage.training.plan;
    std::set<const Instruction*> seen;  // programs may be parts of others
    for (const Program& program : plan.programs) {
      if (!is_turn(program.kind)) continue;
      for_each_call(plan, program, [&](const Instruction& instruction, const Call& call) {
        if (!seen.insert(&instruction).second) return;
        Calls& entry = calls[{program.kind, name_of_call(plan, instruction)}][instruction.layer];
        ++entry.count;
        entry.bytes += call.bytes;
      });
    }
  }
  Table table{
      "layer_calls",
      "calls of a layer, for each micro-batch",
      {{"program", "program"}, {"layers", "layers"}, {"call", "call"}, {"calls", "calls"}, {"bytes", "handed over"}}};
  for (const auto& [key, layers] : calls)
    for (auto first = layers.begin(); first != layers.end();) {
      auto last = first, next = std::next(first);
      while (next != layers.end() && next->first == last->first + 1 && next->second == first->second &&
             first->first >= 0)
        last = next++;
      table.add({name_of(key.first), layer_text(first->first, last->first), key.second, first->second.count,
                 Cell::bytes(first->second.bytes)});
      first = next;
    }
  return table;
}

Table step_calls_table(const Plan& plan) {
  std::map<std::pair<ProgramKind, std::string>, Calls> calls;
  for (const Action& action : plan.actions) {
    const Program& program = program_of(plan, action);
    if (is_turn(program.kind)) continue;
    for_each_call(plan, program, [&](const Instruction& instruction, const Call& call) {
      Calls& entry = calls[{program.kind, name_of_call(plan, instruction)}];
      ++entry.count;
      entry.bytes += call.bytes;
    });
  }
  Table table{"step_calls",
              fmt::format("other calls of rank {} in a step", plan.rank),
              {{"program", "program"}, {"call", "call"}, {"calls", "calls"}, {"bytes", "handed over"}}};
  for (const auto& [key, entry] : calls)
    table.add({name_of(key.first), key.second, entry.count, Cell::bytes(entry.bytes)});
  return table;
}

}  // namespace tessera::apps
