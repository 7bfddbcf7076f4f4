// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/plan_calls.hpp"

#include <algorithm>
#include <ostream>

#include "core/host/host_device.hpp"
#include "core/scheduler/scheduler.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::testing_support {

Plan training_plan(const ModelConfig& model, const MicroBatch& micro_batch, const Mesh& mesh, int rank,
                   std::span<const Strategy* const> strategies) {
  const adamw::AdamW optimizer({});
  HostDevice device(1);
  const KernelTable kernels = all_kernels(device);
  const Target target{kernels, 1, [](CallKind, std::int64_t, DType, int) { return std::int64_t{0}; }};
  const ModelGraph graph = build_model(model, micro_batch, ModelPurpose::train, DType::f32);
  return compile({graph, mesh, rank, strategies, target, 2, Training{optimizer, 1.0}, nullptr}).plan;
}

std::ostream& operator<<(std::ostream& out, const Calls& calls) {
  return out << calls.count << " calls of " << calls.bytes << " bytes";
}

CallsByName calls_of(const Plan& plan, ProgramKind kind, int layer) {
  const auto program = std::find_if(plan.programs.begin(), plan.programs.end(),
                                    [&](const Program& candidate) { return candidate.kind == kind; });
  CallsByName calls;
  for (std::int32_t i = program->first; i < program->first + program->count; ++i) {
    const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
    if (instruction.call < 0 || instruction.layer != layer) continue;
    Calls& named = calls[plan.names[static_cast<std::size_t>(instruction.name)]];
    ++named.count;
    named.bytes += plan.calls[static_cast<std::size_t>(instruction.call)].bytes;
  }
  return calls;
}

}  // namespace tessera::testing_support
