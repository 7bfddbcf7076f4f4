// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/machine.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/config/resolve.hpp"
#include "core/config/sources.hpp"

namespace tessera {
namespace {

Option real(std::string name, std::string fallback, std::string text) {
  return {.name = std::move(name),
          .type = OptionType::real,
          .fallback = std::move(fallback),
          .text = std::move(text),
          .min = 0};
}

const std::vector<Option>& machine_options() {
  static const std::vector<Option> options{
      {.name = "machine.text", .text = "What it is, in a line."},
      real("machine.fp64", "0", "Dense peak of one rank in fp64, FLOP/s. 0: it cannot."),
      real("machine.fp32", "0", "The same in fp32."),
      real("machine.half", "0", "The same in bf16 and fp16."),
      {.name = "machine.efficiency", .type = OptionType::real, .fallback = "1", .min = 0.01, .max = 1},
      real("machine.memory_bandwidth", "0", "Bytes per second, read and written ones both counted."),
      real("machine.kernel_seconds", "0", "Seconds of a kernel without work."),
      {.name = "machine.capacity", .type = OptionType::bytes, .fallback = "0", .min = 0},
      {.name = "machine.overlaps", .type = OptionType::boolean, .fallback = "on"},
      {.name = "node.ranks", .type = OptionType::integer, .fallback = "1", .min = 1, .max = 1 << 20},
      real("node.bandwidth", "0", "Bytes per second that a rank sends to others of its node."),
      real("node.latency", "0", "Seconds of a message without bytes."),
      real("network.bandwidth", "0", "Bytes per second that a rank sends to other nodes."),
      real("network.latency", "0", "Seconds of a message without bytes.")};
  return options;
}

void require_above_zero(const Settings& settings, std::string_view path, std::initializer_list<std::string_view> names,
                        std::vector<Problem>& problems) {
  for (const std::string_view name : names)
    if (!(settings.get<double>(name) > 0))
      problems.push_back({fmt::format("{} must be given, and above 0", name), std::string(path), {}});
}

const Operand& operand(const Plan& plan, const Instruction& instruction, std::int32_t index) {
  return plan.operands[static_cast<std::size_t>(instruction.first_operand + index)];
}

double bytes_of(const Operand& operand) {
  return static_cast<double>(operand.tensor.count() * size_of(operand.tensor.dtype));
}

DType principal_dtype(const Plan& plan, const Instruction& instruction) {
  for (std::int32_t i = 0; i < instruction.inputs + instruction.outputs; ++i) {
    const Operand& o = operand(plan, instruction, i);
    if (o.at && is_floating(o.tensor.dtype)) return o.tensor.dtype;
  }
  return DType::f32;
}

/// A link between a rank and a group of others.
Link link_of(const Machine& machine, int rank, const std::vector<int>& members) {
  const auto node = [&](int r) { return r / machine.node_ranks; };
  const auto here = std::count_if(members.begin(), members.end(), [&](int m) { return node(m) == node(rank); });
  if (here == std::ssize(members)) return machine.node;
  const double together = machine.network.bandwidth * static_cast<double>(here);
  return {here == 1 ? together : std::min(together, machine.node.bandwidth), machine.network.latency};
}

}  // namespace

double Machine::peak(DType dtype) const {
  if (dtype == DType::f64) return flops_f64;
  return dtype == DType::f32 ? flops_f32 : flops_half;
}

Machine parse_machine(std::string_view text, std::string_view path) {
  std::vector<Problem> problems;
  const std::vector<Raw> raws = read_ini(text, path, problems);
  const Resolved resolved = resolve(machine_options(), raws);
  problems.insert(problems.end(), resolved.problems.begin(), resolved.problems.end());
  const Settings& s = resolved.settings;
  require_above_zero(s, path, {"machine.memory_bandwidth", "node.bandwidth", "network.bandwidth"}, problems);
  if (!problems.empty()) throw run_error(problems);
  return {.text = s.get<std::string>("machine.text"),
          .flops_f64 = s.get<double>("machine.fp64"),
          .flops_f32 = s.get<double>("machine.fp32"),
          .flops_half = s.get<double>("machine.half"),
          .efficiency = s.get<double>("machine.efficiency"),
          .memory_bandwidth = s.get<double>("machine.memory_bandwidth"),
          .kernel_seconds = s.get<double>("machine.kernel_seconds"),
          .capacity = s.get<std::int64_t>("machine.capacity"),
          .overlaps = s.get<bool>("machine.overlaps"),
          .node_ranks = s.get<int>("node.ranks"),
          .node = {s.get<double>("node.bandwidth"), s.get<double>("node.latency")},
          .network = {s.get<double>("network.bandwidth"), s.get<double>("network.latency")}};
}

double kernel_seconds(const Machine& machine, const Plan& plan, const Instruction& instruction) {
  double seconds = instruction.bytes / machine.memory_bandwidth;
  if (instruction.flops > 0) {
    const double peak = machine.peak(principal_dtype(plan, instruction));
    if (!(peak > 0))
      throw Error(ErrorKind::configuration, "the machine has no peak for the precision of this run",
                  "Add it to the machine file, or choose another train.precision.");
    seconds = std::max(seconds, instruction.flops / (peak * machine.efficiency));
  }
  return machine.kernel_seconds + seconds;
}

double call_seconds(const Machine& machine, const Mesh& mesh, const Plan& plan, const Instruction& instruction) {
  const Call& call = plan.calls[static_cast<std::size_t>(instruction.call)];
  const std::vector<int> members = mesh.group(plan.rank, call.group);
  const double in = bytes_of(operand(plan, instruction, 0)),
               out = bytes_of(operand(plan, instruction, instruction.inputs));
  if (call.kind == CallKind::send || call.kind == CallKind::receive) {
    const Link link = link_of(machine, plan.rank, {plan.rank, members[static_cast<std::size_t>(call.peer)]});
    return link.latency + (call.kind == CallKind::send ? in : out) / link.bandwidth;
  }
  const Link link = link_of(machine, plan.rank, members);
  const double steps = static_cast<double>(members.size()) - 1;
  const double ring = steps * link.latency + steps / (steps + 1) * std::max(in, out) / link.bandwidth;
  return call.kind == CallKind::all_reduce ? 2 * ring : ring;
}

}  // namespace tessera
