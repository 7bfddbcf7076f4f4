// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tessera {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Bits that are a large negative NaN in every floating type, and an impossible id.
constexpr int k_poison = 0xff;

/// Elements of each member's blocks, and their sum.
std::int64_t sum_rows(const RowExchange::Side& side, const Tensor& counts, std::int64_t row,
                      std::vector<std::int64_t>& elements) {
  const std::int64_t other = counts.shape[1 - side.dim];
  const std::int64_t step = side.dim == 0 ? other : 1, other_step = side.dim == 0 ? 1 : counts.shape[1];
  const auto* const of_block = counts.as<const std::int32_t>();
  std::int64_t total = 0, block = 0;
  for (std::size_t member = 0; member < elements.size(); ++member) {
    std::int64_t rows = 0;
    for (const std::int64_t end = block + side.lengths[member]; block < end; ++block)
      for (std::int64_t o = 0; o < other; ++o) rows += of_block[block * step + o * other_step];
    total += elements[member] = rows * row;
  }
  return total;
}

}  // namespace

Executor::Executor(const Plan& plan, const Arena& arena, Device& device, const AxisCommunicators& communicators,
                   ExecutorOptions options)
    : plan_(plan), arena_(arena), device_(device), options_(options), events_(static_cast<std::size_t>(plan.events)) {
  for (const Operand& operand : plan.operands) {
    tensors_.push_back(operand.tensor);
    tensors_.back().data = arena.at(operand.at);
  }
  for (const Call& call : plan.calls) {
    communicators_.push_back(&communicators.at(call.group));
    RowCounts& counts = row_counts_.emplace_back();
    if (!call.rows) continue;
    counts.send.resize(call.rows->send.lengths.size());
    counts.receive.resize(call.rows->receive.lengths.size());
  }
  open_.reserve(events_.size());
  for (const Program& program : plan.programs) {
    std::vector<std::int32_t>& moving = moving_.emplace_back();
    const auto note = [&](std::int32_t operand) {
      const Address at = plan.operands[static_cast<std::size_t>(operand)].at;
      if (at && at.group >= 0) moving.push_back(operand);
    };
    if (program.repeat >= 0) note(program.repeat);
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
      for (std::int32_t o = 0; o < instruction.inputs + instruction.outputs; ++o) note(instruction.first_operand + o);
    }
  }
  if (!options.poison) return;
  releases_.resize(plan.code.size());
  for (const Release& release : plan.releases) releases_[static_cast<std::size_t>(release.after)].push_back(release);
}

void Executor::run(const StepInputs& inputs) {
  if (options_.trace != nullptr) options_.trace->clear();
  for (std::size_t a = 0; a < plan_.actions.size(); ++a) run_action(static_cast<std::int32_t>(a), inputs);
}

/// Points operands that lie in copies at those of the action.
void Executor::bind(const Action& action) {
  for (std::int32_t operand : moving_[static_cast<std::size_t>(action.program)]) {
    const auto o = static_cast<std::size_t>(operand);
    tensors_[o].data = arena_.at(address_in(plan_, action, plan_.operands[o].at));
  }
}

void Executor::run_action(std::int32_t action_index, const StepInputs& inputs) {
  const Action& action = plan_.actions[static_cast<std::size_t>(action_index)];
  bind(action);
  const std::int32_t repeat = plan_.programs[static_cast<std::size_t>(action.program)].repeat;
  if (repeat < 0) return run_round(action_index, inputs, 0, true);
  const std::int32_t rounds = *tensors_[static_cast<std::size_t>(repeat)].as<const std::int32_t>();
  for (std::int32_t round = 1; round <= rounds; ++round) run_round(action_index, inputs, round, round == rounds);
}

void Executor::run_round(std::int32_t action_index, const StepInputs& inputs, std::int32_t round, bool last) {
  const Action& action = plan_.actions[static_cast<std::size_t>(action_index)];
  const Program& program = plan_.programs[static_cast<std::size_t>(action.program)];
  for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
    const Instruction& instruction = plan_.code[static_cast<std::size_t>(i)];
    const std::int64_t begin = options_.trace != nullptr ? now() : 0;
    switch (instruction.kind) {
      case Instruction::Kind::kernel:
        run_kernel(instruction, action, inputs, round);
        progress();
        break;
      case Instruction::Kind::post:
        events_[static_cast<std::size_t>(event_in(instruction, action))] = {start(instruction), true};
        open_.push_back(event_in(instruction, action));
        break;
      case Instruction::Kind::wait: {
        OpenEvent& event = events_[static_cast<std::size_t>(event_in(instruction, action))];
        if (event.open) event.work.wait();
        event.open = false;
        std::erase(open_, event_in(instruction, action));
        break;
      }
    }
    if (options_.trace != nullptr && options_.trace->size() < options_.trace->capacity())
      options_.trace->push_back({i, action_index, begin, now()});
    if (options_.poison && last) poison_after(i);
  }
}

void Executor::run_kernel(const Instruction& instruction, const Action& action, const StepInputs& inputs,
                          std::int32_t round) {
  const auto first = static_cast<std::size_t>(instruction.first_operand);
  const std::uint32_t later = action.micro_batch > 0 ? instruction.accumulate_after_first : 0;
  const KernelCall call{std::span(tensors_).subspan(first, instruction.inputs),
                        std::span(tensors_).subspan(first + instruction.inputs, instruction.outputs),
                        plan_.attributes[static_cast<std::size_t>(instruction.attributes)],
                        {arena_.at(instruction.workspace), static_cast<std::size_t>(instruction.workspace_bytes)},
                        inputs,
                        device_.stream(instruction.stream),
                        instruction.accumulate | later,
                        round};
  instruction.launch(call);
}

/// Operands of a post are what it reads (with counts, where there are some), what it writes, and its workspace.
Work Executor::start(const Instruction& instruction) {
  const Call& call = plan_.calls[static_cast<std::size_t>(instruction.call)];
  Communicator& communicator = *communicators_[static_cast<std::size_t>(instruction.call)];
  const Tensor* operands = &tensors_[static_cast<std::size_t>(instruction.first_operand)];
  const Tensor &written = operands[instruction.inputs], &scratch = operands[instruction.inputs + 1];
  const ConstView in{operands[0].data, operands[0].count(), operands[0].dtype};
  const View out{written.data, written.count(), written.dtype};
  const CallContext context{device_.stream(instruction.stream),
                            {static_cast<std::byte*>(scratch.data), static_cast<std::size_t>(scratch.count())}};
  if (call.rows) return start_row_exchange(instruction, context);
  switch (call.kind) {
    case CallKind::all_reduce:
      return communicator.all_reduce(out, call.op, context);
    case CallKind::reduce_scatter:
      return communicator.reduce_scatter(in, out, call.send_counts, call.op, context);
    case CallKind::all_gather:
      return communicator.all_gather(in, out, call.receive_counts, context);
    case CallKind::all_to_all:
      return communicator.all_to_all(in, call.send_counts, out, call.receive_counts, context);
    case CallKind::send:
      return communicator.send(in, call.peer, context);
    case CallKind::receive:
      return communicator.receive(out, call.peer, context);
    default:
      break;
  }
  throw Error(ErrorKind::internal, "a plan posts " + std::string(name_of(call.kind)));
}

/// Operands are packed rows, counts before and after, where the rows arrive, and workspace.
Work Executor::start_row_exchange(const Instruction& instruction, const CallContext& context) {
  const RowExchange& rows = *plan_.calls[static_cast<std::size_t>(instruction.call)].rows;
  RowCounts& counts = row_counts_[static_cast<std::size_t>(instruction.call)];
  const Tensor* operands = &tensors_[static_cast<std::size_t>(instruction.first_operand)];
  const std::int64_t sent = sum_rows(rows.send, operands[1], rows.row, counts.send);
  const std::int64_t received = sum_rows(rows.receive, operands[2], rows.row, counts.receive);
  return communicators_[static_cast<std::size_t>(instruction.call)]->all_to_all(
      {operands[0].data, sent, operands[0].dtype}, counts.send, {operands[3].data, received, operands[3].dtype},
      counts.receive, context);
}

/// Lets posted calls advance between kernels: nobody else does on the host.
void Executor::progress() {
  for (std::size_t i = 0; i < open_.size();) {
    OpenEvent& event = events_[static_cast<std::size_t>(open_[i])];
    if (event.work.test()) {
      event.open = false;
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

void Executor::poison_after(std::int32_t instruction) {
  for (const Release& release : releases_[static_cast<std::size_t>(instruction)])
    std::memset(arena_.at(release.at), k_poison, static_cast<std::size_t>(release.bytes));
}

}  // namespace tessera
