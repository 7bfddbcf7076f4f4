// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/trace_costs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "apps/bench/samples.hpp"

namespace tessera::apps {
namespace {

std::span<const Operand> operands_of(const Plan& plan, const Instruction& instruction) {
  if (instruction.first_operand < 0) return {};
  return std::span(plan.operands)
      .subspan(static_cast<std::size_t>(instruction.first_operand),
               static_cast<std::size_t>(instruction.inputs) + instruction.outputs);
}

/// Shapes of neighbours that are alike are written once: "[16, 768] x64".
std::string shapes_of(const Plan& plan, const Instruction& instruction) {
  std::string text, last;
  int alike = 0;
  const auto flush = [&] {
    if (alike > 1) text += fmt::format(" x{}", alike);
    alike = 0;
  };
  const auto operands = operands_of(plan, instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i == instruction.inputs) flush(), text += " ->";
    if (!operands[i].at) continue;
    const std::string shape = to_string(operands[i].tensor.shape);
    if (alike == 0 || shape != last) flush(), text += (text.empty() ? "" : " "), text += shape;
    last = shape;
    ++alike;
  }
  flush();
  return text;
}

std::vector<OpCost> sorted(std::vector<OpCost> costs) {
  std::stable_sort(costs.begin(), costs.end(), [](const OpCost& a, const OpCost& b) {
    return spread_of(a.seconds).median > spread_of(b.seconds).median;
  });
  return costs;
}

}  // namespace

TraceCosts::TraceCosts(const Plan& plan) {
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const Instruction& instruction : plan.code) {
    const std::string op = instruction.name < 0 ? "?" : plan.names[static_cast<std::size_t>(instruction.name)];
    const std::string shapes = shapes_of(plan, instruction);
    const auto [place, is_new] = known.try_emplace({op, shapes}, costs_.size());
    if (is_new) costs_.push_back({.op = op, .shapes = shapes, .seconds = {}});
    cost_of_.push_back(place->second);
  }
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    if (program.repeat >= 0) continue;
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
      OpCost& cost = costs_[cost_of_[static_cast<std::size_t>(i)]];
      ++cost.calls;
      cost.flops += instruction.flops;
      cost.bytes += instruction.bytes;
    }
  }
}

void TraceCosts::add_step(std::span<const TraceEvent> events) {
  for (OpCost& cost : costs_) cost.seconds.push_back(0);
  for (const TraceEvent& event : events)
    costs_[cost_of_[static_cast<std::size_t>(event.instruction)]].seconds.back() +=
        1e-9 * static_cast<double>(event.end - event.begin);
}

std::vector<OpCost> TraceCosts::costs() const {
  std::vector<OpCost> all = costs_;
  std::erase_if(all, [](const OpCost& cost) { return cost.calls == 0; });
  return sorted(std::move(all));
}

std::vector<OpCost> by_op(std::span<const OpCost> costs) {
  std::vector<OpCost> ops;
  for (const OpCost& cost : costs) {
    const auto found = std::find_if(ops.begin(), ops.end(), [&](const OpCost& op) { return op.op == cost.op; });
    if (found == ops.end()) {
      ops.push_back(cost);
      ops.back().shapes.clear();
      continue;
    }
    found->calls += cost.calls;
    found->flops += cost.flops;
    found->bytes += cost.bytes;
    for (std::size_t i = 0; i < cost.seconds.size(); ++i) found->seconds[i] += cost.seconds[i];
  }
  return sorted(std::move(ops));
}

std::size_t count_events(const Plan& plan) {
  std::size_t count = 0;
  for (const Action& action : plan.actions)
    count += static_cast<std::size_t>(plan.programs[static_cast<std::size_t>(action.program)].count);
  return count;
}

}  // namespace tessera::apps
