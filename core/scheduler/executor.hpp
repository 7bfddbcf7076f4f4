// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  running a plan: kernels and calls in order, with nothing allocated, locked or looked up by name.
// Used: the trainer, text generation, tests.
// Must not know: how the plan was made, what a step is for.
#pragma once

#include <cstdint>
#include <vector>

#include "core/comm/axis_communicators.hpp"
#include "core/scheduler/arena.hpp"

namespace tessera {

/// One instruction as it ran. Times in nanoseconds of the monotonic clock.
struct TraceEvent {
  std::int32_t instruction = 0;
  std::int32_t action = 0;
  std::int64_t begin = 0, end = 0;
};

/// What to do besides running. `poison` overwrites scratch that nobody reads any more, to find who does.
struct ExecutorOptions {
  bool poison = false;
  std::vector<TraceEvent>* trace = nullptr;  ///< filled from the start at every run; its capacity is not exceeded
};

class Executor {
 public:
  /// Binds the plan to memory and communicators, all of which must outlive it.
  Executor(const Plan& plan, const Arena& arena, Device& device, const AxisCommunicators& communicators,
           ExecutorOptions options = {});

  /// Runs all actions.
  void run(const StepInputs& inputs);

  const Plan& plan() const { return plan_; }

 private:
  struct OpenEvent {
    Work work;
    bool open = false;
  };

  /// Elements that a call hands to each member and gets from it, where they are data.
  struct RowCounts {
    std::vector<std::int64_t> send, receive;
  };

  void bind(const Action& action);
  void run_action(std::int32_t action_index, const StepInputs& inputs);
  void run_round(std::int32_t action_index, const StepInputs& inputs, std::int32_t round, bool last);
  void run_kernel(const Instruction& instruction, const Action& action, const StepInputs& inputs, std::int32_t round);
  Work start(const Instruction& instruction);
  Work start_row_exchange(const Instruction& instruction, const CallContext& context);
  void progress();
  void poison_after(std::int32_t instruction);

  const Plan& plan_;
  const Arena& arena_;
  Device& device_;
  ExecutorOptions options_;
  std::vector<Tensor> tensors_;               ///< operands with their addresses
  std::vector<Communicator*> communicators_;  ///< by call
  std::vector<RowCounts> row_counts_;         ///< by call; empty where counts are planned
  std::vector<OpenEvent> events_;
  std::vector<std::int32_t> open_;                 ///< events that are not known to be done
  std::vector<std::vector<std::int32_t>> moving_;  ///< operands of each program that depend on the action
  std::vector<std::vector<Release>> releases_;     ///< by instruction; only when poisoning
};

}  // namespace tessera
