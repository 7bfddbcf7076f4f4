// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/actions.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/graph/ops/receive.hpp"

namespace tessera {
namespace {

constexpr std::int64_t k_count_slot = -2, k_seed_slot = -1;

bool is_turn(ProgramKind kind) {
  return kind == ProgramKind::forward || kind == ProgramKind::backward || kind == ProgramKind::weight;
}

/// A bucket's reduction: the nodes that convert its gradient, and where it can start.
struct Reduction {
  std::size_t bucket = 0;
  NodeList list{ProgramKind::reduce, 0, {}};
  std::size_t action = 0;            ///< the last that adds to its gradients
  Lowering::Contribution completed;  ///< by the last instruction of that action that does
  std::int32_t program = -1;
};

/// The programs of one pass of one chunk.
struct PassPrograms {
  std::vector<std::int32_t> run;  ///< pieces
  std::int32_t receive = -1;
  Lowering::SendPrograms send;
};

class Step {
 public:
  Step(const StepArgs& args, std::vector<NodeList> lists, Lowering& lowering, Plan& plan)
      : args_(args),
        stage_(args.mesh.stage_of(plan.rank)),
        lists_(std::move(lists)),
        lowering_(lowering),
        plan_(plan),
        passes_(3 * args.stages.size()) {}

  void make() {
    find_messages();
    std::erase_if(lists_, [&](const NodeList& list) { return is_turn(list.kind) && stage_of(list.chunk) != stage_; });
    drop_unread();
    take_reductions();
    announce();
    reserve_slots();
    const std::int32_t count = lower(ProgramKind::count);
    const std::int32_t seed = lower(ProgramKind::seed);
    for (NodeList& list : lists_)
      if (is_turn(list.kind)) lower_pass(list);
    lower_zeros();

    for (int m = 0; m < args_.micro_batches; ++m) act(count, m, k_count_slot);
    act(seed, 0, k_seed_slot);
    act(zeros_, 0, k_seed_slot);
    for (const AgendaItem& item : args_.agenda.items) act(item);
    place_reductions();
    act(lower_update(), 0, args_.agenda.end + 2);
  }

 private:
  int stage_of(int chunk) const { return args_.stages[static_cast<std::size_t>(chunk)]; }

  PassPrograms& programs_of(Pass pass, int chunk) {
    return passes_[3 * static_cast<std::size_t>(chunk) + static_cast<std::size_t>(pass)];
  }

  void act(std::int32_t program, int micro_batch, std::int64_t slot, CopyIndices copies = {}) {
    if (program < 0) return;
    copies[static_cast<std::size_t>(Copies::inputs)] = micro_batch;
    plan_.actions.push_back({program, micro_batch, slot, copies});
  }

  void act(const AgendaItem& item) {
    const PassPrograms& programs = programs_of(item.turn.pass, item.turn.chunk);
    const auto act_one = [&](std::int32_t program) { act(program, item.turn.micro_batch, item.slot, item.copies); };
    switch (item.kind) {
      case AgendaItem::Kind::turn:
        for (std::int32_t piece : programs.run) act_one(piece);
        return;
      case AgendaItem::Kind::receive:
        return act_one(programs.receive);
      case AgendaItem::Kind::send:
        return act_one(programs.send.send);
      case AgendaItem::Kind::sent:
        return act_one(programs.send.sent);
    }
  }

  std::int32_t lower(ProgramKind kind) {
    for (const NodeList& list : lists_)
      if (list.kind == kind) return lowering_.program(list);
    return -1;
  }

  /// Leaves out of the seed what only other stages read.
  void drop_unread() {
    std::set<Value> read(args_.outputs.begin(), args_.outputs.end());
    for (auto list = lists_.rbegin(); list != lists_.rend(); ++list)
      for (std::size_t i = list->nodes.size(); i-- > 0;) {
        const Node& node = args_.graph.nodes[static_cast<std::size_t>(list->nodes[i])];
        const bool unread = std::none_of(node.out.begin(), node.out.end(), [&](Value v) { return read.contains(v); });
        if (list->kind == ProgramKind::seed && unread)
          list->nodes.erase(list->nodes.begin() + static_cast<std::ptrdiff_t>(i));
        else
          read.insert(node.in.begin(), node.in.end());
      }
  }

  /// The `receive` nodes that read what is made on this stage, and those that are read here.
  void find_messages() {
    for (const NodeList& list : lists_)
      for (std::int32_t n : list.nodes) {
        const Node& node = args_.graph.nodes[static_cast<std::size_t>(n)];
        if (node.op != &ops::receive) continue;
        const int from = args_.graph.producer(node.in[0])->chunk;
        TESSERA_CHECK(stage_of(from) != stage_of(node.chunk), "neighbouring chunks are on one stage");
        if (stage_of(from) == stage_) sends_.push_back(n);
        if (stage_of(node.chunk) == stage_) receives_.push_back(n);
      }
  }

  /// Those of `nodes` that belong to a phase and, as `chunk_of` sees them, a chunk.
  template <class ChunkOf>
  std::vector<std::int32_t> messages(const std::vector<std::int32_t>& nodes, Phase phase, int chunk,
                                     ChunkOf chunk_of) const {
    std::vector<std::int32_t> found;
    for (std::int32_t n : nodes) {
      const Node& node = args_.graph.nodes[static_cast<std::size_t>(n)];
      if (node.phase == phase && chunk_of(node) == chunk) found.push_back(n);
    }
    return found;
  }

  void lower_pass(const NodeList& list) {
    const Pass pass = list.kind == ProgramKind::forward    ? Pass::forward
                      : list.kind == ProgramKind::backward ? Pass::backward
                                                           : Pass::weight;
    PassPrograms& programs = programs_of(pass, list.chunk);
    if (pass == Pass::weight) {
      programs.run = lowering_.programs(list);
      return;
    }
    const Phase phase = pass == Pass::forward ? Phase::forward : Phase::backward;
    programs.receive =
        lowering_.receive_program(messages(receives_, phase, list.chunk, [](const Node& node) { return node.chunk; }));
    programs.run = lowering_.programs(list);
    programs.send = lowering_.send_programs(
        messages(sends_, phase, list.chunk, [&](const Node& node) { return args_.graph.producer(node.in[0])->chunk; }));
  }

  /// Scalars that only other stages add to: their part here is zero.
  void lower_zeros() {
    std::vector<std::int32_t> empty;
    for (std::size_t a = 0; a < args_.graph.accumulators.size(); ++a)
      if (const auto index = static_cast<std::int32_t>(a);
          args_.graph.accumulators[a].parameter < 0 && lowering_.contributions(index).empty())
        empty.push_back(index);
    if (!empty.empty()) zeros_ = lowering_.zero_program(empty);
  }

  std::int32_t lower_update() {
    lowering_.set_key(0);
    return lower(ProgramKind::update);
  }

  /// Takes the conversions of buckets out of the update: they run on their own, as early as they can.
  void take_reductions() {
    const auto update = std::find_if(lists_.begin(), lists_.end(),
                                     [](const NodeList& list) { return list.kind == ProgramKind::update; });
    for (std::size_t b = 0; b < args_.update.buckets.size(); ++b) {
      const BucketValues& values = args_.update.buckets[b];
      Reduction reduction;
      reduction.bucket = b;
      for (Value v = values.reduced; v && v != values.gradient; v = args_.graph[v].source)
        reduction.list.nodes.insert(reduction.list.nodes.begin(), args_.graph[v].producer);
      if (reduction.list.nodes.empty()) continue;
      for (std::int32_t node : reduction.list.nodes) std::erase(update->nodes, node);
      reductions_.push_back(std::move(reduction));
    }
  }

  void announce() {
    std::vector<NodeList> all = lists_;
    for (const Reduction& reduction : reductions_) all.push_back(reduction.list);
    lowering_.announce(all, sends_, args_.outputs);
  }

  void reserve_slots() {
    std::int64_t bytes = 0;
    for (const Reduction& reduction : reductions_) {
      const Bucket& bucket = plan_.buckets[reduction.bucket];
      const AxisGroup group = args_.mesh.group_of(bucket.partial, bucket.home);
      const auto members = static_cast<int>(args_.mesh.group(plan_.rank, group).size());
      bytes = std::max(bytes,
                       args_.target.collective_workspace(CallKind::all_reduce, bucket.elements, bucket.dtype, members));
    }
    if (!reductions_.empty()) lowering_.reserve_slots(bytes);
  }

  bool spans_stages(const Reduction& reduction) const {
    const Bucket& bucket = plan_.buckets[reduction.bucket];
    return bucket.home.is_shared() && bucket.partial.has(args_.mesh.find("pp"));
  }

  /// Finds the action and instruction that complete each bucket's gradient.
  void find_completions() {
    std::vector<std::size_t> last_action(plan_.programs.size());
    for (std::size_t a = 0; a < plan_.actions.size(); ++a)
      last_action[static_cast<std::size_t>(plan_.actions[a].program)] = a;
    const std::vector<std::int32_t> accumulator_of = args_.graph.gradient_accumulators();
    for (Reduction& reduction : reductions_)
      for (const BucketMember& member : plan_.buckets[reduction.bucket].members)
        for (const Lowering::Contribution& c :
             lowering_.contributions(accumulator_of[static_cast<std::size_t>(member.parameter)])) {
          const std::size_t action = last_action[static_cast<std::size_t>(c.program)];
          if (std::pair(action, c.end) < std::pair(reduction.action, reduction.completed.end)) continue;
          reduction.action = action;
          reduction.completed = c;
        }
  }

  /// Cuts the actions that complete buckets, with a reduction behind each piece.
  void place_reductions() {
    find_completions();
    std::stable_sort(reductions_.begin(), reductions_.end(), [&](const Reduction& a, const Reduction& b) {
      return std::tuple(spans_stages(a), a.action, a.completed.end) <
             std::tuple(spans_stages(b), b.action, b.completed.end);
    });
    std::vector<Action> actions;
    auto next = reductions_.begin();
    for (std::size_t a = 0; a < plan_.actions.size(); ++a) {
      Action action = plan_.actions[a];
      std::int32_t node = -1;
      for (; next != reductions_.end() && !spans_stages(*next) && next->action == a; ++next) {
        cut(actions, action, next->completed.end);
        if (node != next->completed.node) lowering_.set_key(Lowering::key_of(node = next->completed.node) + 1);
        next->list.chunk = program(action).chunk;
        next->program = lowering_.program(next->list, Lowering::Events::leave_open);
        actions.push_back({next->program, 0, action.slot, {}});
      }
      if (program(action).count > 0) actions.push_back(action);
    }
    plan_.actions = std::move(actions);
    lowering_.set_key(0);
    for (; next != reductions_.end(); ++next)
      act(lowering_.program(next->list, Lowering::Events::leave_open), 0, args_.agenda.end + 1);
    lowering_.set_key({});
  }

  Program program(const Action& action) const { return plan_.programs[static_cast<std::size_t>(action.program)]; }

  /// Adds the part of `action` before instruction `end`; what is left stays in `action`.
  void cut(std::vector<Action>& actions, Action& action, std::int32_t end) {
    const Program whole = program(action);
    auto piece = [&](std::int32_t first, std::int32_t last) {
      plan_.programs.push_back({whole.kind, whole.chunk, first, last - first, -1});
      return static_cast<std::int32_t>(plan_.programs.size() - 1);
    };
    if (end <= whole.first) return;
    Action before = action;
    if (end == whole.first + whole.count) {
      actions.push_back(before);
      action.program = piece(end, end);
      return;
    }
    TESSERA_CHECK(whole.repeat < 0, "a body that is repeated would be cut");
    before.program = piece(whole.first, end);
    actions.push_back(before);
    action.program = piece(end, whole.first + whole.count);
  }

  const StepArgs& args_;
  int stage_;
  std::vector<NodeList> lists_;
  Lowering& lowering_;
  Plan& plan_;
  std::vector<std::int32_t> sends_, receives_;  ///< `receive` nodes of other stages that read ours, and our own
  std::vector<PassPrograms> passes_;
  std::vector<Reduction> reductions_;
  std::int32_t zeros_ = -1;
};

}  // namespace

void make_step(const StepArgs& args, std::vector<NodeList> lists, Lowering& lowering, Plan& plan) {
  Step(args, std::move(lists), lowering, plan).make();
}

}  // namespace tessera
