// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/actions.hpp"

#include <algorithm>

namespace tessera {
namespace {

/// A bucket's reduction: the nodes that convert its gradient, and the instruction behind which it can start.
struct Reduction {
  std::size_t bucket = 0;
  NodeList list{ProgramKind::reduce, 0, {}};
  std::int32_t after = 0;
  std::int32_t program = -1;
};

NodeList* find(std::vector<NodeList>& lists, ProgramKind kind) {
  const auto found = std::find_if(lists.begin(), lists.end(), [&](const NodeList& list) { return list.kind == kind; });
  return found == lists.end() ? nullptr : &*found;
}

class Step {
 public:
  Step(const StepArgs& args, std::vector<NodeList> lists, Lowering& lowering, Plan& plan)
      : args_(args), lists_(std::move(lists)), lowering_(lowering), plan_(plan) {}

  void make() {
    take_reductions();
    announce();
    reserve_slots();
    const std::int32_t count = lower(ProgramKind::count);
    const std::int32_t seed = lower(ProgramKind::seed);
    const std::int32_t forward = lower(ProgramKind::forward);
    const std::int32_t backward = lower(ProgramKind::backward);
    lower_reductions();
    const std::int32_t update = lower(ProgramKind::update);

    for (int m = 0; m < args_.micro_batches; ++m) act(count, m);
    act(seed, 0);
    for (int m = 0; m < args_.micro_batches; ++m) {
      act(forward, m);
      if (m + 1 < args_.micro_batches)
        act(backward, m);
      else
        cut_backward(backward, m);
    }
    act(update, 0);
  }

 private:
  void act(std::int32_t program, int micro_batch) {
    if (program >= 0) plan_.actions.push_back({program, micro_batch, 0});
  }

  std::int32_t lower(ProgramKind kind) {
    const NodeList* list = find(lists_, kind);
    return list == nullptr ? -1 : lowering_.program(*list);
  }

  /// Takes the conversions of buckets out of the update: they run on their own, as early as they can.
  void take_reductions() {
    NodeList* update = find(lists_, ProgramKind::update);
    for (std::size_t b = 0; b < args_.update.buckets.size(); ++b) {
      const BucketValues& values = args_.update.buckets[b];
      Reduction reduction{b};
      for (Value v = values.reduced; v && v != values.gradient; v = args_.graph[v].source)
        reduction.list.nodes.insert(reduction.list.nodes.begin(), args_.graph[v].producer);
      if (reduction.list.nodes.empty()) continue;
      for (std::int32_t node : reduction.list.nodes) std::erase(update->nodes, node);
      reductions_.push_back(std::move(reduction));
    }
  }

  void announce() {
    for (const Reduction& reduction : reductions_) lists_.push_back(reduction.list);
    lowering_.announce(lists_, args_.outputs);
  }

  void reserve_slots() {
    std::int64_t bytes = 0;
    for (const Reduction& reduction : reductions_) {
      const Bucket& bucket = plan_.buckets[reduction.bucket];
      bytes = std::max(bytes, args_.target.collective_workspace(CallKind::all_reduce, bucket.elements, bucket.dtype,
                                                                args_.mesh.size_of(bucket.partial)));
    }
    if (!reductions_.empty()) lowering_.reserve_slots(bytes);
  }

  void lower_reductions() {
    for (Reduction& reduction : reductions_)
      for (const BucketMember& member : plan_.buckets[reduction.bucket].members)
        for (std::size_t a = 0; a < args_.graph.accumulators.size(); ++a)
          if (args_.graph.accumulators[a].parameter == member.parameter)
            reduction.after = std::max(reduction.after, lowering_.completed(static_cast<std::int32_t>(a)));
    std::stable_sort(reductions_.begin(), reductions_.end(),
                     [](const Reduction& a, const Reduction& b) { return a.after < b.after; });
    for (Reduction& reduction : reductions_)
      reduction.program = lowering_.program(reduction.list, Lowering::Events::leave_open);
  }

  /// The backward of the last micro-batch in pieces, with a reduction behind each piece that completes a bucket.
  void cut_backward(std::int32_t backward, int micro_batch) {
    if (backward < 0) return;
    const Program whole = plan_.programs[static_cast<std::size_t>(backward)];
    const std::int32_t end = whole.first + whole.count;
    std::int32_t from = whole.first;
    auto run_until = [&](std::int32_t to) {
      if (to <= from) return;
      plan_.programs.push_back({whole.kind, whole.chunk, from, to - from});
      act(static_cast<std::int32_t>(plan_.programs.size() - 1), micro_batch);
      from = to;
    };
    for (const Reduction& reduction : reductions_) {
      run_until(std::min(reduction.after, end));
      act(reduction.program, 0);
    }
    run_until(end);
  }

  const StepArgs& args_;
  std::vector<NodeList> lists_;
  Lowering& lowering_;
  Plan& plan_;
  std::vector<Reduction> reductions_;
};

}  // namespace

void make_step(const StepArgs& args, std::vector<NodeList> lists, Lowering& lowering, Plan& plan) {
  Step(args, std::move(lists), lowering, plan).make();
}

}  // namespace tessera
