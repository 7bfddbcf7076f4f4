// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/describe.hpp"

#include <fmt/core.h>

namespace tessera {
namespace {

std::string describe_address(Address at) {
  if (!at) return "-";
  return fmt::format("{}{}+{:#x}", name_of(at.tag), at.group < 0 ? "" : "[copy]", at.offset);
}

std::string describe_operand(const Operand& operand, const Graph& graph, const Mesh& mesh) {
  std::string text = fmt::format("{}{} @{}", name_of(operand.tensor.dtype), to_string(operand.tensor.shape),
                                 describe_address(operand.at));
  if (operand.value) text += fmt::format(" <{}>", to_string(graph[operand.value].layout, mesh));
  return text;
}

std::string describe_layer(int layer) {
  if (layer == k_embedding) return "embedding";
  if (layer == k_head) return "head";
  return fmt::format("layer {}", layer);
}

std::string describe_instruction(const Plan& plan, std::int32_t index, const Graph& graph, const Mesh& mesh) {
  const Instruction& instruction = plan.code[static_cast<std::size_t>(index)];
  std::string text = fmt::format("  {:>5}  {:<10} {:<28}", index, describe_layer(instruction.layer),
                                 plan.names[static_cast<std::size_t>(instruction.name)]);
  if (instruction.event >= 0) text += fmt::format(" e{}", instruction.event);
  if (instruction.call >= 0) {
    const Call& call = plan.calls[static_cast<std::size_t>(instruction.call)];
    if (call.peer >= 0) text += fmt::format(" {} member {}", call.kind == CallKind::send ? "to" : "from", call.peer);
    return text + fmt::format(" over {}, {}\n", mesh.describe(call.group), describe_bytes(call.bytes));
  }
  for (int i = 0; i < instruction.inputs + instruction.outputs; ++i)
    text += fmt::format(
        "{}{}", i == instruction.inputs ? " -> " : " ",
        describe_operand(plan.operands[static_cast<std::size_t>(instruction.first_operand + i)], graph, mesh));
  if (instruction.accumulate != 0) text += " (adds)";
  if (instruction.accumulate_after_first != 0) text += " (adds from micro-batch 1)";
  return text + "\n";
}

}  // namespace

std::string describe_bytes(std::int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string describe_memory(const MemoryPlan& memory) {
  std::string text;
  for (int t = 0; t < k_tags; ++t) {
    const auto tag = static_cast<Tag>(t);
    text += fmt::format("  {:<14} {:>12}  {:>16} bytes\n", name_of(tag), describe_bytes(memory[tag]), memory[tag]);
  }
  return text + fmt::format("  {:<14} {:>12}  {:>16} bytes\n", "arena", describe_bytes(memory.total()), memory.total());
}

std::string describe_plan(const Plan& plan, const Graph& graph, const Mesh& mesh) {
  std::string text = fmt::format("rank {} of mesh {}\n", plan.rank, mesh.describe());
  std::vector<bool> printed(plan.programs.size());
  for (const Action& action : plan.actions) {
    const auto p = static_cast<std::size_t>(action.program);
    const Program& program = plan.programs[p];
    text += fmt::format("slot {:>4}  {} chunk {} micro-batch {} ({} instructions from {})\n", action.slot,
                        name_of(program.kind), program.chunk, action.micro_batch, program.count, program.first);
    if (printed[p]) continue;  // as the first time
    printed[p] = true;
    for (std::int32_t i = program.first; i < program.first + program.count; ++i)
      text += describe_instruction(plan, i, graph, mesh);
  }
  return text + "memory\n" + describe_memory(plan.memory);
}

std::map<std::string, CallCount> count_calls(const Plan& plan, ProgramKind kind) {
  std::map<std::string, CallCount> counts;
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    if (program.kind != kind) continue;
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
      if (instruction.call < 0) continue;
      CallCount& count = counts[plan.names[static_cast<std::size_t>(instruction.name)]];
      ++count.calls;
      count.bytes += plan.calls[static_cast<std::size_t>(instruction.call)].bytes;
    }
  }
  return counts;
}

}  // namespace tessera
