// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/verifier.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "core/base/counter_rng.hpp"

namespace tessera {
namespace {

std::size_t position_of(const Plan& plan, AxisSet axes) {
  return static_cast<std::size_t>(std::find(plan.communicators.begin(), plan.communicators.end(), axes) -
                                  plan.communicators.begin());
}

/// Elements of the whole that a call moves: parts of members add up to the same number on all of them.
std::int64_t logical_count(const Plan& plan, const Instruction& instruction, const Call& call) {
  const auto& counts = call.receive_counts.empty() ? call.send_counts : call.receive_counts;
  if (call.kind == CallKind::all_to_all) return 0;  // members send and receive parts of their own
  if (!counts.empty()) return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return plan.operands[static_cast<std::size_t>(instruction.first_operand)].tensor.count();
}

std::uint64_t digest_of(const std::vector<CallSignature>& calls) {
  std::uint64_t digest = 0;
  for (const CallSignature& call : calls)
    digest = mix(digest ^
                 mix(static_cast<std::uint64_t>(call.kind) << 16 | static_cast<std::uint64_t>(call.op) << 8 |
                     static_cast<std::uint64_t>(call.dtype)) ^
                 mix(static_cast<std::uint64_t>(call.count)));
  return digest;
}

/// A host stream for calls that are made at once.
class CallingThread final : public Stream {
 public:
  CallingThread() : Stream(StreamRole::collective) {}
  void synchronize() override {}
};

}  // namespace

std::vector<std::vector<CallSignature>> call_sequences(const Plan& plan) {
  std::vector<std::vector<CallSignature>> sequences(plan.communicators.size());
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
      if (instruction.kind != Instruction::Kind::post) continue;
      const Call& call = plan.calls[static_cast<std::size_t>(instruction.call)];
      const DType dtype = plan.operands[static_cast<std::size_t>(instruction.first_operand)].tensor.dtype;
      sequences[position_of(plan, call.axes)].push_back(
          {call.kind, call.op, dtype, logical_count(plan, instruction, call)});
    }
  }
  return sequences;
}

std::string describe(const CallSignature& call, std::size_t index, const std::string& communicator) {
  return fmt::format("call {} on {}: {} of {} {}", index, communicator, name_of(call.kind), call.count,
                     name_of(call.dtype));
}

std::optional<std::string> first_difference(const Plan& a, const Plan& b, const Mesh& mesh, AxisSet axes) {
  auto calls_of = [&](const Plan& plan) {
    const std::size_t position = position_of(plan, axes);
    return position < plan.communicators.size() ? call_sequences(plan)[position] : std::vector<CallSignature>{};
  };
  const std::vector<CallSignature> left = calls_of(a), right = calls_of(b);
  const std::string name = mesh.describe(axes);
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    if (i < left.size() && i < right.size() && left[i] == right[i]) continue;
    auto side = [&](const std::vector<CallSignature>& calls) {
      return i < calls.size() ? describe(calls[i], i, name) : fmt::format("no call {} on {}", i, name);
    };
    return fmt::format("rank {} makes {}, rank {} makes {}", a.rank, side(left), b.rank, side(right));
  }
  return std::nullopt;
}

std::vector<std::string> verify_plans(const std::vector<const Plan*>& plans, const Mesh& mesh) {
  std::vector<std::string> differences;
  for (const Plan* plan : plans)
    for (AxisSet axes : plan->communicators) {
      const int first = mesh.group(plan->rank, axes)[0];
      if (first == plan->rank) continue;
      if (auto difference = first_difference(*plans[static_cast<std::size_t>(first)], *plan, mesh, axes))
        differences.push_back(*difference);
    }
  return differences;
}

void verify_over(Communicator& world, const Plan& plan, const Mesh& mesh) {
  const auto sequences = call_sequences(plan);
  // One number per rank and communicator, where the sets and their order are equal; the list itself is compared first.
  std::uint64_t list = 0;
  for (AxisSet axes : plan.communicators) list = mix(list ^ axes.bits());
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::vector<std::int64_t> ones(ranks, 1);
  CallingThread stream;
  auto gather = [&](std::uint64_t mine) {
    std::vector<std::uint64_t> all(ranks);
    world
        .all_gather({&mine, 1, DType::i64}, {all.data(), static_cast<std::int64_t>(ranks), DType::i64}, ones,
                    {stream, {}})
        .wait();
    return all;
  };
  const std::vector<std::uint64_t> lists = gather(list);
  for (std::size_t r = 0; r < ranks; ++r)
    if (lists[r] != lists[0])
      throw Error(ErrorKind::disagreement, fmt::format("rank {} would make other communicators than rank 0", r),
                  "start all ranks with the same program, run file and modules");
  for (std::size_t c = 0; c < sequences.size(); ++c) {
    const std::vector<std::uint64_t> digests = gather(digest_of(sequences[c]));
    for (int r = 0; r < world.size(); ++r) {
      const int first = mesh.group(r, plan.communicators[c])[0];
      if (digests[static_cast<std::size_t>(r)] != digests[static_cast<std::size_t>(first)])
        throw Error(ErrorKind::disagreement,
                    fmt::format("ranks {} and {} would make different calls on {}", first, r,
                                mesh.describe(plan.communicators[c])),
                    "start all ranks with the same program, run file and modules");
    }
  }
}

}  // namespace tessera
