// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/scheduler.hpp"

#include <algorithm>

#include "core/base/op_attributes.hpp"
#include "core/graph/ops/router.hpp"
#include "core/scheduler/actions.hpp"
#include "core/scheduler/bucket.hpp"
#include "core/scheduler/differentiate.hpp"
#include "core/scheduler/expand.hpp"
#include "core/scheduler/place.hpp"
#include "core/scheduler/report.hpp"
#include "core/scheduler/reside.hpp"
#include "core/scheduler/update.hpp"

namespace tessera {
namespace {

class Compiler {
 public:
  explicit Compiler(const CompileArgs& args)
      : args_(args),
        placer_(placed_.graph, args.mesh),
        stages_(args.pipeline.map.stages.empty() ? std::vector<int>{0} : args.pipeline.map.stages),
        lowering_(placed_.graph, args.mesh, args.rank, stages_, args.target, plan_) {}

  Compiled run() {
    place_model();
    if (args_.training) differentiate(placer_, roots_, direct_gradients());
    expand(placer_, args_.strategies);
    gather_bodies(placed_.graph);
    if (args_.training) {
      plan_.buckets = make_buckets(placed_.graph, args_.mesh, args_.rank, bucket_bytes());
      update_ = add_update(placer_, plan_.buckets, gradient_rest(), args_.training->optimizer, args_.training->clip);
    } else {
      plan_.buckets =
          args_.buckets != nullptr ? *args_.buckets : make_buckets(placed_.graph, args_.mesh, args_.rank, 0);
    }
    if (!totals_.empty()) loss_ = add_report(placer_, totals_);
    lower();
    return {std::move(placed_.graph), std::move(plan_)};
  }

 private:
  const Graph& graph() const { return placed_.graph; }

  void place_model() {
    Graph logical = args_.model.graph;
    for (const Strategy* strategy : args_.strategies) strategy->transform(logical);
    place(placed_, placer_, logical, args_.strategies, args_.pipeline.map);
    if (args_.model.logits) logits_ = placed_.values.at(args_.model.logits);
    if (args_.model.losses.empty()) return;
    seed_ = add_seed(placer_, add_count(placer_, placed_.values.at(args_.model.inputs.mask)));
    for (Value loss : args_.model.losses) roots_.push_back({placed_.values.at(loss), seed_.gradient});
    add_auxiliary_roots();
    std::vector<Value> losses;
    for (Value loss : args_.model.losses) losses.push_back(placed_.values.at(loss));
    totals_.push_back(add_total(placer_, losses, "loss"));
    add_expert_totals();
  }

  /// What layers with experts tell stands behind the loss.
  void add_expert_totals() {
    if (!args_.training) return;
    std::int32_t next = 1;
    for (const ExpertReport& report : args_.model.reports) {
      const auto add = [&](Value part, const char* name) -> std::int32_t {
        if (!part) return -1;
        const Value placed = placed_.values.at(part);
        totals_.push_back(add_total(placer_, {&placed, 1}, name));
        const std::int32_t at = next;
        next += static_cast<std::int32_t>(graph()[placed].type.shape.count());
        return at;
      };
      const Value load = placed_.values.at(report.load);
      plan_.experts.push_back({graph().producer(load)->layer, static_cast<std::int32_t>(graph()[load].type.shape[0]),
                               add(report.load, "load"), add(report.kept, "kept"), add(report.balance, "balance"),
                               add(report.z, "z")});
    }
  }

  /// Auxiliary losses are means over the sequences of the global batch.
  void add_auxiliary_roots() {
    if (!args_.training) return;
    const Shape& tokens = graph()[placed_.values.at(args_.model.inputs.ids)].type.shape;
    const auto sequences = static_cast<double>(tokens[1] * args_.micro_batches);
    for (const AuxiliaryLoss& loss : args_.model.auxiliary) {
      placer_.context = {Phase::seed};
      const Value seed =
          placer_.emit(ops::auxiliary_seed, {}, Attributes::of(attributes::Factor{loss.coefficient / sequences}))[0];
      roots_.push_back({placed_.values.at(loss.sum), seed});
    }
  }

  std::vector<DirectGradient> direct_gradients() const {
    std::vector<DirectGradient> direct;
    for (const GivenGradient& given : args_.model.gradients)
      direct.push_back({placed_.values.at(given.parameter), placed_.values.at(given.value)});
    return direct;
  }

  GradientRest gradient_rest() const {
    GradientRest rest = GradientRest::partial;
    for (const Strategy* strategy : args_.strategies) rest = std::max(rest, strategy->gradient_rest());
    return rest;
  }

  std::int64_t bucket_bytes() const {
    std::int64_t bytes = 0;
    for (const Strategy* strategy : args_.strategies) bytes = std::max(bytes, strategy->bucket_bytes());
    return bytes;
  }

  void lower() {
    const std::vector<Value> outputs = named_outputs();
    plan_.rank = args_.rank;
    const Schedule* schedule = args_.pipeline.schedule;
    const bool split = args_.training && schedule != nullptr && schedule->splits_backward();
    const Agenda agenda = make_agenda(turns(), stages_, args_.mesh.stage_of(args_.rank));
    reside(graph(), update_, agenda, args_.micro_batches, lowering_, plan_);
    make_step({graph(), update_, outputs, args_.micro_batches, args_.target, args_.mesh, agenda, stages_},
              cut_into_programs(graph(), outputs, split ? BackwardCut::split : BackwardCut::joint), lowering_, plan_);
    if (loss_) plan_.loss = lowering_.operand(loss_);
    if (seed_.count) plan_.count = lowering_.operand(seed_.count);
    if (update_.decision) plan_.decision = lowering_.operand(update_.decision);
    if (logits_) plan_.logits = lowering_.operand(logits_);
    lowering_.finish();
  }

  std::vector<std::vector<Turn>> turns() const {
    const int stages = args_.mesh.stages(), m = args_.micro_batches;
    if (!args_.training) return forward_turns(stages_, stages, m);
    if (args_.pipeline.schedule != nullptr) return args_.pipeline.schedule->turns({stages, args_.pipeline.chunks, m});
    std::vector<std::vector<Turn>> turns(1);
    for (int i = 0; i < m; ++i)
      for (Pass pass : {Pass::forward, Pass::backward}) turns[0].push_back({pass, 0, i});
    return turns;
  }

  std::vector<Value> named_outputs() const {
    std::vector<Value> outputs;
    for (Value v : {loss_, seed_.count, update_.decision, logits_})
      if (v) outputs.push_back(v);
    return outputs;
  }

  const CompileArgs& args_;
  Placed placed_;
  Placer placer_;
  Plan plan_;
  const std::vector<int> stages_;  ///< of chunks
  Lowering lowering_;
  std::vector<LossRoot> roots_;
  Seed seed_;
  std::vector<Value> totals_;
  Value loss_, logits_;
  Update update_;
};

}  // namespace

Compiled compile(const CompileArgs& args) {
  return Compiler(args).run();
}

}  // namespace tessera
