// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/simulator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera {
namespace {

using CallId = std::int32_t;
constexpr CallId k_none = -1;

/// A posted call of one rank. Its times are found when somebody waits for it, or when they can be.
struct PostedCall {
  std::int32_t rank = 0, instruction = 0, action = 0;
  CallKind kind = CallKind::all_reduce;
  StreamRole stream = StreamRole::collective;
  double issued = 0, seconds = 0;
  CallId before = k_none;   ///< must be done before it begins
  CallId partner = k_none;  ///< of a receive: the send, once it is posted
  bool answered = true;     ///< by one of our ranks; else the peer is taken to be as far as this rank
  std::int32_t meeting = -1;
  double begin = 0, end = 0;
  bool known = false;
  bool searched = false;  ///< its times are being found: whoever asks again waits for itself
};

/// A collective of several stages: the calls of those that have come.
struct Meeting {
  std::vector<CallId> calls;
  std::size_t wanted = 0;
};

/// The messages of a pair of ranks, in order.
struct Channel {
  std::vector<CallId> sends, receives;
};

struct RankState {
  std::size_t action = 0;
  std::int32_t next = 0;  ///< instruction within the action's program
  double clock = 0;
  CallId last_collective = k_none, last_send = k_none;
  std::vector<CallId> events;
};

class Simulator {
 public:
  explicit Simulator(const SimulationArgs& args) : args_(args), states_(args.plans.size()) {
    result_.ranks.resize(args.plans.size());
    for (std::size_t r = 0; r < states_.size(); ++r) {
      states_[r].events.assign(static_cast<std::size_t>(args.plans[r]->events), k_none);
      place_of_[args.plans[r]->rank] = r;
      costs_.push_back(costs_of(*args.plans[r]));
    }
  }

  Simulation run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < states_.size(); ++r)
        while (!finished(r) && advance(r)) moved = true;
    }
    check_finished();
    for (SimulatedRank& rank : result_.ranks) result_.step = std::max(result_.step, rank.end);
    if (args_.record == SimulationArgs::Record::events)
      for (const PostedCall& call : calls_)
        record(static_cast<std::size_t>(call.rank), call.instruction, call.action, call.stream, call.begin, call.end);
    return std::move(result_);
  }

 private:
  const Plan& plan(std::size_t r) const { return *args_.plans[r]; }

  std::vector<double> costs_of(const Plan& plan) const {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < plan.code.size(); ++i) {
      const auto index = static_cast<std::int32_t>(i);
      switch (plan.code[i].kind) {
        case Instruction::Kind::kernel:
          seconds.push_back(args_.costs.kernel(plan, index));
          break;
        case Instruction::Kind::post:
          seconds.push_back(args_.costs.call(plan, index));
          break;
        case Instruction::Kind::wait:
          seconds.push_back(0);
          break;
      }
    }
    return seconds;
  }

  bool finished(std::size_t r) const { return states_[r].action == plan(r).actions.size(); }

  /// Runs the rank's next instruction; false when that must wait for another rank.
  bool advance(std::size_t r) {
    RankState& state = states_[r];
    const Action& action = plan(r).actions[state.action];
    const Program& program = plan(r).programs[static_cast<std::size_t>(action.program)];
    if (program.repeat < 0 && state.next < program.count) {
      const std::int32_t index = program.first + state.next;
      if (!execute(r, action, index)) return false;
      ++state.next;
      result_.ranks[r].end = std::max(result_.ranks[r].end, state.clock);
    }
    if (program.repeat >= 0 || state.next >= program.count) {
      ++state.action;
      state.next = 0;
    }
    return true;
  }

  bool execute(std::size_t r, const Action& action, std::int32_t index) {
    const Instruction& instruction = plan(r).code[static_cast<std::size_t>(index)];
    switch (instruction.kind) {
      case Instruction::Kind::kernel:
        run_kernel(r, index);
        return true;
      case Instruction::Kind::post:
        return post(r, action, index);
      case Instruction::Kind::wait:
        return wait(r, action, index);
    }
    return true;
  }

  void run_kernel(std::size_t r, std::int32_t index) {
    const double seconds = costs_[r][static_cast<std::size_t>(index)], begin = states_[r].clock;
    states_[r].clock += seconds;
    result_.ranks[r].kernels += seconds;
    keep(r, index, begin);
  }

  CallId& event(std::size_t r, const Action& action, const Instruction& instruction) {
    return states_[r].events[static_cast<std::size_t>(event_in(instruction, action))];
  }

  bool post(std::size_t r, const Action& action, std::int32_t index) {
    const Instruction& instruction = plan(r).code[static_cast<std::size_t>(index)];
    CallId& id = event(r, action, instruction);
    if (posting_.contains(r)) {  // already posted: the rank itself takes part in it, and waited for others
      id = posting_.at(r);
    } else {
      id = add_call(r, index);
    }
    const PostedCall& call = calls_[static_cast<std::size_t>(id)];
    if (args_.calls == SimulationArgs::Calls::beside || call.kind == CallKind::receive) {
      find_times(id);
      return true;
    }
    posting_[r] = id;
    if (!find_times(id)) return false;
    posting_.erase(r);
    wait_until(r, call);
    return true;
  }

  CallId add_call(std::size_t r, std::int32_t index) {
    RankState& state = states_[r];
    const Instruction& instruction = plan(r).code[static_cast<std::size_t>(index)];
    const Call& what = plan(r).calls[static_cast<std::size_t>(instruction.call)];
    const auto id = static_cast<CallId>(calls_.size());
    PostedCall& call = calls_.emplace_back();
    call.rank = static_cast<std::int32_t>(r);
    call.instruction = index;
    call.action = static_cast<std::int32_t>(state.action);
    call.kind = what.kind;
    call.stream = instruction.stream;
    call.issued = state.clock;
    call.seconds = costs_[r][static_cast<std::size_t>(index)];
    if (is_collective(what.kind)) {
      call.before = std::exchange(state.last_collective, id);
      join_meeting(r, what, id);
    } else {
      if (what.kind == CallKind::send) call.before = std::exchange(state.last_send, id);
      join_channel(r, what, id);
    }
    return id;
  }

  /// Where several of our ranks are members, their n-th calls on the group belong together.
  void join_meeting(std::size_t r, const Call& what, CallId id) {
    const std::vector<int> members = args_.mesh.group(plan(r).rank, what.group);
    std::size_t ours = 0;
    for (int member : members) ours += place_of_.contains(member) ? 1 : 0;
    if (ours <= 1) return;
    const int number = meetings_of_rank_[{r, what.group}]++;
    const auto [place, is_new] =
        meeting_of_.try_emplace({members.front(), what.group, number}, static_cast<std::int32_t>(meetings_.size()));
    if (is_new) meetings_.push_back({{}, ours});
    calls_[static_cast<std::size_t>(id)].meeting = place->second;
    meetings_[static_cast<std::size_t>(place->second)].calls.push_back(id);
  }

  void join_channel(std::size_t r, const Call& what, CallId id) {
    const int peer = args_.mesh.group(plan(r).rank, what.group)[static_cast<std::size_t>(what.peer)];
    const bool sends = what.kind == CallKind::send;
    if (!place_of_.contains(peer)) {
      calls_[static_cast<std::size_t>(id)].answered = false;
      return;
    }
    Channel& channel = channels_[sends ? std::pair(plan(r).rank, peer) : std::pair(peer, plan(r).rank)];
    auto& mine = sends ? channel.sends : channel.receives;
    const auto& others = sends ? channel.receives : channel.sends;
    mine.push_back(id);
    if (others.size() < mine.size()) return;
    const CallId other = others[mine.size() - 1];
    const CallId receive = sends ? other : id;
    calls_[static_cast<std::size_t>(receive)].partner = sends ? id : other;
  }

  /// When a call begins at the earliest, as far as its own rank is concerned. The call before must be known.
  double ready(const PostedCall& call) const {
    return call.before == k_none ? call.issued
                                 : std::max(call.issued, calls_[static_cast<std::size_t>(call.before)].end);
  }

  /// Finds begin and end of a call; false when they depend on what is not posted yet.
  bool find_times(CallId id) {
    if (id == k_none) return true;
    PostedCall& call = calls_[static_cast<std::size_t>(id)];
    if (call.known) return true;
    if (call.kind == CallKind::receive && call.answered) {
      if (call.partner == k_none || !find_times(call.partner)) return false;
      const PostedCall& send = calls_[static_cast<std::size_t>(call.partner)];
      set_times(call, std::clamp(call.issued, send.begin, send.end), std::max(call.issued, send.end));
      return true;
    }
    if (call.searched) return false;
    call.searched = true;
    const bool found = find_own_times(call);
    call.searched = false;
    return found;
  }

  bool find_own_times(PostedCall& call) {
    if (!find_times(call.before)) return false;
    if (call.meeting >= 0) return find_meeting_times(meetings_[static_cast<std::size_t>(call.meeting)]);
    set_times(call, ready(call), ready(call) + call.seconds);
    return true;
  }

  bool find_meeting_times(const Meeting& meeting) {
    if (meeting.calls.size() < meeting.wanted) return false;
    double begin = 0, seconds = 0;
    for (CallId id : meeting.calls) {
      const PostedCall& call = calls_[static_cast<std::size_t>(id)];
      if (!find_times(call.before)) return false;
      begin = std::max(begin, ready(call));
      seconds = std::max(seconds, call.seconds);
    }
    for (CallId id : meeting.calls) set_times(calls_[static_cast<std::size_t>(id)], begin, begin + seconds);
    return true;
  }

  static void set_times(PostedCall& call, double begin, double end) {
    call.begin = begin;
    call.end = end;
    call.known = true;
  }

  bool wait(std::size_t r, const Action& action, std::int32_t index) {
    const double begin = states_[r].clock;
    CallId& id = event(r, action, plan(r).code[static_cast<std::size_t>(index)]);
    if (!find_times(id)) return false;
    if (id != k_none) wait_until(r, calls_[static_cast<std::size_t>(id)]);
    id = k_none;
    keep(r, index, begin);
    return true;
  }

  void wait_until(std::size_t r, const PostedCall& call) {
    double& clock = states_[r].clock;
    if (call.end <= clock) return;
    SimulatedRank& rank = result_.ranks[r];
    (call.stream == StreamRole::pipeline ? rank.messages : rank.collectives) += call.end - clock;
    clock = call.end;
  }

  /// Records an instruction of the compute stream that has just ended.
  void keep(std::size_t r, std::int32_t index, double begin) {
    if (args_.record != SimulationArgs::Record::events) return;
    record(r, index, static_cast<std::int32_t>(states_[r].action), StreamRole::compute, begin, states_[r].clock);
  }

  void record(std::size_t r, std::int32_t index, std::int32_t action, StreamRole stream, double begin, double end) {
    result_.ranks[r].events.push_back({index, action, stream, begin, end});
  }

  void check_finished() const {
    std::string waiting;
    for (std::size_t r = 0; r < states_.size(); ++r) {
      if (finished(r)) continue;
      const Action& action = plan(r).actions[states_[r].action];
      const Program& program = plan(r).programs[static_cast<std::size_t>(action.program)];
      const Instruction& at = plan(r).code[static_cast<std::size_t>(program.first + states_[r].next)];
      waiting += fmt::format("\nrank {}: {} of {}, micro-batch {}", plan(r).rank,
                             at.name < 0 ? "?" : plan(r).names[static_cast<std::size_t>(at.name)],
                             name_of(program.kind), action.micro_batch);
    }
    if (!waiting.empty()) throw Error(ErrorKind::internal, "the step would never end; waiting are" + waiting);
  }

  const SimulationArgs& args_;
  std::vector<RankState> states_;
  std::map<int, std::size_t> place_of_;     ///< of our ranks, in the order of the plans
  std::vector<std::vector<double>> costs_;  ///< [rank][instruction]
  std::vector<PostedCall> calls_;
  std::vector<Meeting> meetings_;
  std::map<std::tuple<int, AxisGroup, int>, std::int32_t> meeting_of_;  ///< by first member, group and number
  std::map<std::pair<std::size_t, AxisGroup>, int> meetings_of_rank_;
  std::map<std::pair<int, int>, Channel> channels_;  ///< by ranks: from, to
  std::map<std::size_t, CallId> posting_;            ///< calls that keep their rank from going on
  Simulation result_;
};

}  // namespace

Simulation simulate(const SimulationArgs& args) {
  return Simulator(args).run();
}

}  // namespace tessera
