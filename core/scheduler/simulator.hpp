// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a step that is not run: when every instruction of a plan would begin and end, on one rank of each stage. Bodies
//       that are repeated (Program::repeat) are taken to run never.
// Used: `tessera plan`, tests of schedules.
// Must not know: machines (it is told what costs how much), how plans are made.
#pragma once

#include <span>
#include <vector>

#include "core/scheduler/plan.hpp"

namespace tessera {

/// Seconds of a plan's instructions.
class SimulationCosts {
 public:
  virtual ~SimulationCosts() = default;
  virtual double kernel(const Plan& plan, std::int32_t instruction) const = 0;
  virtual double call(const Plan& plan, std::int32_t instruction) const = 0;
};

struct SimulationArgs {
  /// Of one rank per stage, all with the same coordinates but the stage. The other ranks of a stage do the same at the
  /// same time, so a call waits only for the stages that take part in it, and a message within a stage for none.
  std::span<const Plan* const> plans;
  const Mesh& mesh;
  const SimulationCosts& costs;
  enum class Calls : std::uint8_t {
    beside,   ///< run on their streams while kernels run
    instead,  ///< keep the rank from running kernels
  };
  Calls calls = Calls::beside;
  enum class Record : std::uint8_t { times, events };
  Record record = Record::times;
};

/// One instruction as it would run; of a call, what it takes between its post and its end. Seconds from the step's
/// start.
struct SimulatedEvent {
  std::int32_t instruction = 0, action = 0;
  StreamRole stream = StreamRole::compute;
  double begin = 0, end = 0;
};

/// Where a rank's time goes. What is left to the step's length is idle behind its last instruction.
struct SimulatedRank {
  double kernels = 0;
  double collectives = 0;              ///< for which kernels had to wait, messages within a stage among them
  double messages = 0;                 ///< the same of messages between stages, late stages included
  double end = 0;                      ///< of the last instruction
  std::vector<SimulatedEvent> events;  ///< when asked for: kernels and waits in order, then calls

  /// Share of a step that the rank runs no kernel.
  double idle_share(double step) const { return step > 0 ? 1 - kernels / step : 0; }
};

struct Simulation {
  std::vector<SimulatedRank> ranks;  ///< in the order of the plans
  double step = 0;
};

/// Kernels of a rank run one after the other in the order of the plan. A collective begins when all stages in it have
/// posted it and their earlier ones are done; sends of a rank follow one another, and a message is there when its send
/// is done. Throws Error{internal} that names the waits when the ranks would wait for each other for ever.
Simulation simulate(const SimulationArgs& args);

}  // namespace tessera
