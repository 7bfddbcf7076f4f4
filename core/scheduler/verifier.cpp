// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/verifier.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/core.h>

#include "core/base/counter_rng.hpp"
#include "core/scheduler/series_exchange.hpp"

namespace tessera {
namespace {

bool is_message(const Call& call) {
  return call.kind == CallKind::send || call.kind == CallKind::receive;
}

/// Elements of the whole that a call moves: parts of members add up to the same number on all of them.
std::int64_t logical_count(const Plan& plan, const Instruction& instruction, const Call& call) {
  const auto& counts = call.receive_counts.empty() ? call.send_counts : call.receive_counts;
  if (call.kind == CallKind::all_to_all) return 0;  // members send and receive parts of their own
  if (!counts.empty()) return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return plan.operands[static_cast<std::size_t>(instruction.first_operand)].tensor.count();
}

/// Calls visit(call, signature) for all calls of a step, in order.
template <class Visit>
void for_each_call(const Plan& plan, Visit visit) {
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
      if (instruction.kind != Instruction::Kind::post) continue;
      const Call& call = plan.calls[static_cast<std::size_t>(instruction.call)];
      const DType dtype = plan.operands[static_cast<std::size_t>(instruction.first_operand)].tensor.dtype;
      visit(call, CallSignature{is_message(call) ? CallKind::send : call.kind, call.op, dtype,
                                logical_count(plan, instruction, call), action.slot, call.key, call.chunk, 0});
    }
  }
}

/// The series that a call belongs to.
CallSeries series_of(const Plan& plan, const Mesh& mesh, const Call& call) {
  CallSeries series{call.group, -1, -1, {}};
  if (!is_message(call)) return series;
  const int peer = mesh.group(plan.rank, call.group)[static_cast<std::size_t>(call.peer)];
  series.from = call.kind == CallKind::send ? plan.rank : peer;
  series.to = call.kind == CallKind::send ? peer : plan.rank;
  return series;
}

bool same_series(const CallSeries& a, const CallSeries& b) {
  return a.group == b.group && a.from == b.from && a.to == b.to;
}

std::string name_of(const CallSeries& series, const Mesh& mesh) {
  if (series.from < 0) return mesh.describe(series.group);
  return fmt::format("{} from rank {} to rank {}", mesh.describe(series.group), series.from, series.to);
}

/// All who take part, ascending.
std::vector<int> members_of(const CallSeries& series, const Mesh& mesh, int rank) {
  if (series.from < 0) return mesh.group(rank, series.group);
  return {std::min(series.from, series.to), std::max(series.from, series.to)};
}

std::vector<CallSignature> calls_of(const Plan& plan, const Mesh& mesh, const CallSeries& wanted) {
  for (CallSeries& series : call_series(plan, mesh))
    if (same_series(series, wanted)) return std::move(series.calls);
  return {};
}

std::string difference(int a, const std::vector<CallSignature>& left, int b, const std::vector<CallSignature>& right,
                       const std::string& name) {
  std::size_t i = 0;
  while (i < left.size() && i < right.size() && left[i] == right[i]) ++i;
  auto side = [&](const std::vector<CallSignature>& calls) {
    return i < calls.size() ? describe(calls[i], i, name) : fmt::format("no call {} on {}", i, name);
  };
  return fmt::format("rank {} makes {}, rank {} makes {}", a, side(left), b, side(right));
}

std::uint64_t digest_of(const std::vector<CallSignature>& calls) {
  std::uint64_t digest = 0;
  for (const CallSignature& call : calls) {
    const std::uint64_t what = static_cast<std::uint64_t>(call.kind) << 16 | static_cast<std::uint64_t>(call.op) << 8 |
                               static_cast<std::uint64_t>(call.dtype);
    for (const std::uint64_t part :
         {what, static_cast<std::uint64_t>(call.count), static_cast<std::uint64_t>(call.slot),
          static_cast<std::uint64_t>(call.key), static_cast<std::uint64_t>(call.chunk)})
      digest = mix(digest ^ mix(part));
  }
  return digest;
}

[[noreturn]] void disagree(const std::string& message) {
  throw Error(ErrorKind::disagreement, message, "start all ranks with the same program, run file and modules");
}

}  // namespace

std::vector<CallSeries> call_series(const Plan& plan, const Mesh& mesh) {
  std::vector<CallSeries> all;
  for_each_call(plan, [&](const Call& call, const CallSignature& signature) {
    const CallSeries series = series_of(plan, mesh, call);
    auto found = std::find_if(all.begin(), all.end(), [&](const CallSeries& s) { return same_series(s, series); });
    if (found == all.end()) found = all.insert(all.end(), series);
    found->calls.push_back(signature);
  });
  return all;
}

std::string describe(const CallSignature& call, std::size_t index, const std::string& series) {
  return fmt::format("call {} on {}: {} of {} {} (slot {}, chunk {}, key {})", index, series, name_of(call.kind),
                     call.count, name_of(call.dtype), call.slot, call.chunk, call.key);
}

std::optional<std::string> first_inversion(const Plan& plan, const Mesh& mesh) {
  std::optional<std::string> inversion;
  std::optional<CallSignature> last;
  std::string last_name;
  std::size_t index = 0;
  for_each_call(plan, [&](const Call& call, const CallSignature& signature) {
    auto place = [](const CallSignature& s) { return std::tuple(s.slot, s.chunk, s.key); };
    const std::string name = name_of(series_of(plan, mesh, call), mesh);
    if (!inversion && last && place(signature) < place(*last))
      inversion = fmt::format("rank {} makes {} before {}; all other ranks make the second first", plan.rank,
                              describe(*last, index - 1, last_name), describe(signature, index, name));
    last = signature;
    last_name = name;
    ++index;
  });
  return inversion;
}

std::optional<std::string> first_difference(const Plan& a, const Plan& b, const Mesh& mesh, const CallSeries& series) {
  const std::vector<CallSignature> left = calls_of(a, mesh, series), right = calls_of(b, mesh, series);
  if (left == right) return std::nullopt;
  return difference(a.rank, left, b.rank, right, name_of(series, mesh));
}

std::vector<std::string> verify_plans(const std::vector<const Plan*>& plans, const Mesh& mesh) {
  std::vector<std::string> differences;
  for (const Plan* plan : plans) {
    if (auto inversion = first_inversion(*plan, mesh)) differences.push_back(*inversion);
    for (const CallSeries& series : call_series(*plan, mesh))
      for (int member : members_of(series, mesh, plan->rank)) {
        if (member == plan->rank) continue;
        if (auto found = first_difference(*plans[static_cast<std::size_t>(member)], *plan, mesh, series))
          if (std::find(differences.begin(), differences.end(), *found) == differences.end())
            differences.push_back(*found);
        break;  // every other member compares with this one, too
      }
  }
  return differences;
}

void verify_over(Communicator& world, const Plan& plan, const Mesh& mesh) {
  SeriesExchange exchange(world);
  if (const auto inversion = exchange.first_text(first_inversion(plan, mesh))) disagree(*inversion);

  const std::vector<CallSeries> mine = call_series(plan, mesh);
  std::vector<SeriesDigest> digests;
  for (const CallSeries& series : mine) {
    const std::vector<int> members = members_of(series, mesh, plan.rank);
    digests.push_back({series.group.axes.bits(), series.group.home.bits(), members[0], series.from, series.to,
                       static_cast<std::int32_t>(members.size()), digest_of(series.calls)});
  }
  const auto suspect = exchange.first_mismatch(digests);
  if (!suspect) return;
  const CallSeries series{{AxisSet(static_cast<std::uint16_t>(suspect->axes)), Home::of_bits(suspect->home)},
                          suspect->from,
                          suspect->to,
                          {}};
  const std::vector<int> members = members_of(series, mesh, suspect->first);
  const std::vector<CallSignature> calls = calls_of(plan, mesh, series);
  const auto left = exchange.calls_of(members[0], calls);
  for (std::size_t m = 1; m < members.size(); ++m) {
    const auto right = exchange.calls_of(members[m], calls);
    if (left != right) disagree(difference(members[0], left, members[m], right, name_of(series, mesh)));
  }
  disagree(fmt::format("ranks would make different calls on {}", name_of(series, mesh)));
}

std::vector<AxisGroup> all_communicators(Communicator& world, std::vector<AxisGroup> mine) {
  return SeriesExchange(world).union_of(std::move(mine));
}

}  // namespace tessera
