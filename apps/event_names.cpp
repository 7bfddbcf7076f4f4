// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/event_names.hpp"

#include <fmt/core.h>

namespace tessera::apps {
namespace {

std::string layer_name(std::int32_t layer) {
  if (layer == k_embedding) return "embedding";
  if (layer == k_head) return "head";
  return fmt::format("layer {}", layer);
}

}  // namespace

std::string event_name(const Plan& plan, const Instruction& instruction) {
  return fmt::format("{} {}", plan.names[static_cast<std::size_t>(instruction.name)], layer_name(instruction.layer));
}

std::string event_category(const Plan& plan, const Action& action, std::int64_t step) {
  const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
  return fmt::format("step {} {} {}", step, name_of(program.kind), action.micro_batch);
}

}  // namespace tessera::apps
