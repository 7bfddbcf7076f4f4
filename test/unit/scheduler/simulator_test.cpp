// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Simulated steps: of plans made by hand, and of real ones, which take as long as the schedules that they follow.
#include "core/scheduler/simulator.hpp"

#include <functional>
#include <map>

#include "core/scheduler/schedule_run.hpp"
#include "modules/schedule/gpipe/gpipe.hpp"
#include "modules/schedule/interleaved/interleaved.hpp"
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"
#include "modules/schedule/zero_bubble/zero_bubble.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/tiny_plans.hpp"

namespace tessera {
namespace {

using Calls = SimulationArgs::Calls;
using Record = SimulationArgs::Record;

/// Kernels take `flops` seconds, calls `bytes` seconds.
class WrittenCosts final : public SimulationCosts {
 public:
  double kernel(const Plan& plan, std::int32_t instruction) const override {
    return plan.code[static_cast<std::size_t>(instruction)].flops;
  }
  double call(const Plan& plan, std::int32_t instruction) const override {
    const auto call = plan.code[static_cast<std::size_t>(instruction)].call;
    return static_cast<double>(plan.calls[static_cast<std::size_t>(call)].bytes);
  }
};

/// A plan of one program, instruction by instruction.
class HandMade {
 public:
  explicit HandMade(int rank) { plan_.rank = rank; }

  HandMade& kernel(double seconds) {
    Instruction instruction;
    instruction.flops = seconds;
    return add(instruction);
  }
  HandMade& post(CallKind kind, AxisSet axes, std::int64_t seconds, int peer = -1) {
    Instruction instruction;
    instruction.kind = Instruction::Kind::post;
    instruction.stream = is_collective(kind) ? StreamRole::collective : StreamRole::pipeline;
    instruction.call = static_cast<std::int32_t>(plan_.calls.size());
    instruction.event = plan_.events++;
    Call call;
    call.kind = kind;
    call.group.axes = axes;
    call.peer = peer;
    call.bytes = seconds;
    plan_.calls.push_back(call);
    return add(instruction);
  }
  HandMade& wait(std::int32_t event) {
    Instruction instruction;
    instruction.kind = Instruction::Kind::wait;
    instruction.event = event;
    return add(instruction);
  }

  const Plan* plan() {
    plan_.names = {"something"};
    plan_.programs = {{ProgramKind::forward, 0, 0, static_cast<std::int32_t>(plan_.code.size())}};
    plan_.actions = {Action{}};
    return &plan_;
  }

 private:
  HandMade& add(Instruction instruction) {
    instruction.name = 0;
    plan_.code.push_back(instruction);
    return *this;
  }
  Plan plan_;
};

const Mesh k_pipeline({{"dp", "dp", 2}, {"pp", "pp", 2}});
const AxisSet k_data = AxisSet::of(0), k_stages = AxisSet::of(1);

Simulation simulated(std::initializer_list<HandMade*> made, Calls calls = Calls::beside) {
  std::vector<const Plan*> plans;
  for (HandMade* plan : made) plans.push_back(plan->plan());
  return simulate({plans, k_pipeline, WrittenCosts(), calls, Record::events});
}

TEST(Simulator, ACollectiveRunsBesideKernels) {
  HandMade plan(0);
  plan.kernel(2).post(CallKind::all_reduce, k_data, 5).kernel(3).wait(0).kernel(1);
  const Simulation beside = simulated({&plan});
  EXPECT_EQ(beside.step, 2 + 5 + 1);
  EXPECT_EQ(beside.ranks[0].kernels, 6);
  EXPECT_EQ(beside.ranks[0].collectives, 2);
  const Simulation instead = simulated({&plan}, Calls::instead);
  EXPECT_EQ(instead.step, 2 + 5 + 3 + 1);
  EXPECT_EQ(instead.ranks[0].collectives, 5);
}

TEST(Simulator, CollectivesFollowOneAnother) {
  HandMade plan(0);
  plan.post(CallKind::all_reduce, k_data, 5).post(CallKind::all_gather, k_data, 4).kernel(1).wait(1).wait(0);
  EXPECT_EQ(simulated({&plan}).step, 9);
}

TEST(Simulator, AMessageIsThereWhenItsSendIsDone) {
  HandMade first(0), second(2);
  first.kernel(3).post(CallKind::send, k_stages, 2, 1).kernel(10).wait(0);
  second.post(CallKind::receive, k_stages, 2, 0).kernel(1).wait(0).kernel(4);
  const Simulation simulation = simulated({&first, &second});
  EXPECT_EQ(simulation.ranks[0].end, 13);
  EXPECT_EQ(simulation.ranks[1].end, 3 + 2 + 4);
  EXPECT_EQ(simulation.ranks[1].messages, 4);
  EXPECT_DOUBLE_EQ(simulation.ranks[1].idle_share(simulation.step), 8.0 / 13);
}

TEST(Simulator, SendsOfARankFollowOneAnother) {
  HandMade first(0), second(2);
  first.post(CallKind::send, k_stages, 2, 1).post(CallKind::send, k_stages, 3, 1).wait(0).wait(1);
  second.post(CallKind::receive, k_stages, 2, 0).post(CallKind::receive, k_stages, 3, 0).wait(0).kernel(1).wait(1);
  const Simulation simulation = simulated({&first, &second});
  EXPECT_EQ(simulation.ranks[1].end, 5);
  EXPECT_EQ(simulation.ranks[1].messages, 4);
}

TEST(Simulator, NeighboursWithinAStageAreAsFarAsTheRank) {
  HandMade plan(0);
  plan.kernel(2).post(CallKind::send, k_data, 5, 1).post(CallKind::receive, k_data, 5, 1).kernel(3).wait(0).wait(1);
  const Simulation simulation = simulated({&plan});
  EXPECT_EQ(simulation.step, 2 + 5);
  EXPECT_EQ(simulation.ranks[0].messages, 2);
}

TEST(Simulator, ACollectiveOfStagesWaitsForTheLast) {
  HandMade first(0), second(2);
  first.kernel(1).post(CallKind::all_reduce, k_stages, 2).wait(0);
  second.kernel(7).post(CallKind::all_reduce, k_stages, 2).wait(0);
  for (const Calls calls : {Calls::beside, Calls::instead}) {
    const Simulation simulation = simulated({&first, &second}, calls);
    EXPECT_EQ(simulation.ranks[0].end, 9);
    EXPECT_EQ(simulation.ranks[1].end, 9);
    EXPECT_EQ(simulation.ranks[0].collectives, 8);
  }
}

TEST(Simulator, EventsSayWhenCallsRan) {
  HandMade plan(0);
  plan.kernel(2).post(CallKind::all_reduce, k_data, 5).kernel(3).wait(0);
  const Simulation simulation = simulated({&plan});
  ASSERT_EQ(simulation.ranks[0].events.size(), 4U);
  const SimulatedEvent& wait = simulation.ranks[0].events[2];
  EXPECT_EQ(std::tuple(wait.instruction, wait.begin, wait.end), std::tuple(3, 5.0, 7.0));
  const SimulatedEvent& call = simulation.ranks[0].events[3];
  EXPECT_EQ(std::tuple(call.instruction, call.stream, call.begin, call.end),
            std::tuple(1, StreamRole::collective, 2.0, 7.0));
}

std::string refusal_of(std::initializer_list<HandMade*> made) {
  try {
    simulated(made);
  } catch (const Error& error) {
    return error.what();
  }
  return "it ended";
}

TEST(Simulator, SaysWhereRanksWouldWaitForEver) {
  HandMade first(0), second(2);
  first.post(CallKind::receive, k_stages, 1, 1).wait(0).post(CallKind::send, k_stages, 1, 1);
  second.post(CallKind::receive, k_stages, 1, 0).wait(0).post(CallKind::send, k_stages, 1, 0);
  EXPECT_THAT(refusal_of({&first, &second}), testing::HasSubstr("rank 2: something of forward, micro-batch 0"));

  const AxisSet both = k_data | k_stages;
  HandMade one(0), other(2);
  one.post(CallKind::all_reduce, k_stages, 1).post(CallKind::all_reduce, both, 1).wait(1);
  other.post(CallKind::all_reduce, both, 1).post(CallKind::all_reduce, k_stages, 1).wait(1);
  EXPECT_THAT(refusal_of({&one, &other}), testing::HasSubstr("rank 0"));
}

/// Every pass of a chunk takes its units, all of them in its last kernel; nothing else takes time.
class PassCosts final : public SimulationCosts {
 public:
  PassCosts(const std::vector<Plan>& plans, const TurnCosts& units) {
    for (const Plan& plan : plans) {
      std::map<std::pair<ProgramKind, int>, std::int32_t> last;
      for (const Program& program : plan.programs)
        for (std::int32_t i = program.first; i < program.first + program.count; ++i)
          if (plan.code[static_cast<std::size_t>(i)].kind == Instruction::Kind::kernel)
            last[{program.kind, program.chunk}] = std::max(last[{program.kind, program.chunk}], i);
      for (const auto& [key, instruction] : last) {
        if (key.first == ProgramKind::forward) units_[{&plan, instruction}] = static_cast<double>(units.forward);
        if (key.first == ProgramKind::backward) units_[{&plan, instruction}] = static_cast<double>(units.backward);
        if (key.first == ProgramKind::weight) units_[{&plan, instruction}] = static_cast<double>(units.weight);
      }
    }
  }
  double kernel(const Plan& plan, std::int32_t instruction) const override {
    const auto found = units_.find({&plan, instruction});
    return found == units_.end() ? 0 : found->second;
  }
  double call(const Plan&, std::int32_t) const override { return 0; }

 private:
  std::map<std::pair<const Plan*, std::int32_t>, double> units_;
};

void expect_steps_as_scheduled(const Schedule& schedule, const PipelineShape& shape) {
  const DataParallel data(1 << 12);
  testing_support::PlanCase training{Mesh({{"dp", "dp", 2}, {"pp", "pp", shape.stages}}), {&data}};
  training.pipeline = {&schedule, shape.chunks, {}};
  training.layers = shape.stages * shape.chunks;
  training.micro_batches = shape.micro_batches;
  std::vector<Plan> plans;
  for (int stage = 0; stage < shape.stages; ++stage)
    plans.push_back(testing_support::plans_of(training, 2 * stage).training.plan);
  const TurnCosts units{.forward = 1, .backward = schedule.splits_backward() ? 1 : 2, .weight = 1};
  const ScheduleRun run = run_schedule(schedule.turns(shape), schedule.placement(shape.stages, shape.chunks), units);
  std::vector<const Plan*> pointers;
  for (const Plan& plan : plans) pointers.push_back(&plan);
  const Simulation simulation = simulate({pointers, training.mesh, PassCosts(plans, units)});
  EXPECT_EQ(simulation.step, static_cast<double>(run.end))
      << shape.stages << " stages, " << shape.chunks << " chunks, " << shape.micro_batches << " micro-batches";
}

TEST(SimulatedPlans, TakeAsLongAsTheirSchedules) {
  for (const int p : {2, 4})
    for (const int m : {1, 3, 4, 8}) {
      expect_steps_as_scheduled(GPipe(), {p, 1, m});
      expect_steps_as_scheduled(OneFOneB(), {p, 1, m});
      expect_steps_as_scheduled(ZeroBubble(), {p, 1, m});
      expect_steps_as_scheduled(Interleaved(), {p, 2, m});
    }
}

}  // namespace
}  // namespace tessera
