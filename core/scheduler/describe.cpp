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

/// Prints instructions of a plan, each when it is first met.
class Printer {
 public:
  Printer(const Plan& plan, const Graph& graph, const Mesh& mesh)
      : plan_(plan), graph_(graph), mesh_(mesh), printed_(plan.code.size()) {
    for (const Instruction& instruction : plan.code)
      if (instruction.kind == Instruction::Kind::post) calls_[instruction.event] = name(instruction);
  }

  std::string program(const Program& program) {
    std::string text;
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      if (printed_[static_cast<std::size_t>(i)]) continue;
      printed_[static_cast<std::size_t>(i)] = true;
      text += instruction(i);
    }
    return text;
  }

  std::string operand(std::int32_t index) const {
    return describe_operand(plan_.operands[static_cast<std::size_t>(index)], graph_, mesh_);
  }

 private:
  std::string name(const Instruction& instruction) const {
    return plan_.names[static_cast<std::size_t>(instruction.name)];
  }

  std::string instruction(std::int32_t index) const {
    const Instruction& instruction = plan_.code[static_cast<std::size_t>(index)];
    std::string text =
        fmt::format("  {:>5}  {:<10} {:<28}", index, describe_layer(instruction.layer), name(instruction));
    if (instruction.event >= 0) text += event(instruction);
    switch (instruction.kind) {
      case Instruction::Kind::kernel:
        return text + kernel(instruction) + "\n";
      case Instruction::Kind::post:
        return text + call(instruction) + "\n";
      case Instruction::Kind::wait:
        return text + fmt::format(" of {}\n", calls_.at(instruction.event));
    }
    return text;
  }

  static std::string event(const Instruction& instruction) {
    return fmt::format(" e{}{}", instruction.event, instruction.event_copies < 0 ? "" : "[copy]");
  }

  std::string operand(const Instruction& instruction, int index) const {
    return operand(instruction.first_operand + index);
  }

  std::string kernel(const Instruction& instruction) const {
    std::string text;
    for (int i = 0; i < instruction.inputs + instruction.outputs; ++i)
      text += (i == instruction.inputs ? " -> " : " ") + operand(instruction, i);
    if (instruction.accumulate != 0) text += " (adds)";
    if (instruction.accumulate_after_first != 0) text += " (adds from micro-batch 1)";
    return text;
  }

  std::string call(const Instruction& instruction) const {
    const Call& call = plan_.calls[static_cast<std::size_t>(instruction.call)];
    std::string text = fmt::format(" on {}", name_of(instruction.stream));
    if (call.kind == CallKind::send) return text + fmt::format(" to member {}: {}", call.peer, operand(instruction, 0));
    if (call.kind == CallKind::receive)
      return text + fmt::format(" from member {}: {}", call.peer, operand(instruction, 1));
    return text + fmt::format(" over {}, {}: {} -> {}", mesh_.describe(call.group), describe_bytes(call.bytes),
                              operand(instruction, 0), operand(instruction, instruction.inputs));
  }

  const Plan& plan_;
  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<bool> printed_;
  std::map<std::int32_t, std::string> calls_;  ///< by event
};

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
  Printer printer(plan, graph, mesh);
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    text += fmt::format("slot {:>4}  {} chunk {} micro-batch {} (instructions {} to {})\n", action.slot,
                        name_of(program.kind), program.chunk, action.micro_batch, program.first,
                        program.first + program.count - 1);
    if (program.repeat >= 0) text += fmt::format("       as often as {} says\n", printer.operand(program.repeat));
    text += printer.program(program);
  }
  return text + "memory\n" + describe_memory(plan.memory);
}

std::map<std::string, CallCount> count_calls(const Plan& plan, ProgramKind kind) {
  std::map<std::string, CallCount> counts;
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    if (program.kind != kind || program.repeat >= 0) continue;
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
