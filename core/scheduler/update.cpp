// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/update.hpp"

#include "core/base/op_attributes.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/step.hpp"
#include "core/scheduler/balance_update.hpp"
#include "core/scheduler/differentiate.hpp"

namespace tessera {
namespace {

Value one(Placer& placer, const Op& op, std::initializer_list<Value> in, const Attributes& attributes = {}) {
  return placer.emit(op, std::span(in.begin(), in.size()), attributes)[0];
}

Value add_state(Placer& placer, const Bucket& bucket, AxisSet partial, const std::string& name) {
  ValueInfo info;
  info.type = {{placer.mesh().size_of(bucket.split.set()), bucket.elements}, bucket.dtype};
  info.layout.splits(0) = bucket.split;
  info.layout.set_partial(partial, Merge::sum);
  info.home = bucket.home;
  info.role = ValueRole::state;
  info.name = name;
  return placer.graph().add_value(std::move(info));
}

/// This gradient's part of the squared norm, partial over the whole mesh: where ranks hold the same elements, the mask
/// keeps the first of them.
Value squared_norm(Placer& placer, Value gradient) {
  const Value sum = one(placer, ops::sum_squares, {gradient});
  Layout partial;
  partial.set_partial(placer.mesh().all(), Merge::sum);
  const Value masked = placer.convert(sum, partial);
  placer.graph()[masked].home = {};  // stages that do not hold the bucket add nothing to the sum
  return masked;
}

}  // namespace

Value add_count(Placer& placer, Value mask) {
  placer.context = {Phase::count};
  const Value sum = one(placer, ops::total, {mask});
  const std::int32_t accumulator = add_accumulator(placer, sum, "count");
  accumulate_into(placer, sum, accumulator);
  return placer.graph().accumulators[static_cast<std::size_t>(accumulator)].total;
}

Seed add_seed(Placer& placer, Value count) {
  placer.context = {Phase::seed};
  const Value whole = placer.convert(count, Layout{});
  return {whole, one(placer, ops::loss_seed, {whole})};
}

Update add_update(Placer& placer, const std::vector<Bucket>& buckets, GradientRest rest, const Optimizer& optimizer,
                  double clip) {
  placer.context = {Phase::update, k_head};
  Update update;
  Value total;
  for (const Bucket& bucket : buckets) {
    BucketValues& values = update.buckets.emplace_back();
    if (!bucket.trained) continue;
    values.weights = add_state(placer, bucket, {}, "weights");
    values.gradient = add_state(placer, bucket, bucket.partial, "gradient");
    if (bucket.rule == UpdateRule::optimizer)
      for (const OptimizerState& state : optimizer.states())
        values.states.push_back(add_state(placer, bucket, {}, state.name));
    TESSERA_CHECK(
        bucket.partial.empty() || rest == GradientRest::replicated,
        "gradients are partial over " + placer.mesh().describe(bucket.partial) + " and no strategy reduces them");
    values.reduced = placer.convert(values.gradient, placer.graph()[values.gradient].layout.dual());
    if (bucket.rule == UpdateRule::balance) continue;  // what experts got is no part of the norm
    const Value square = squared_norm(placer, values.reduced);
    total = total ? one(placer, ops::add, {total, square}) : square;
  }
  const Value whole = placer.convert(total, Layout{});
  update.decision = one(placer, ops::step_decision, {whole}, Attributes::of(attributes::Clip{clip}));
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const BucketValues& values = update.buckets[b];
    if (!buckets[b].trained) continue;
    const UpdateArgs args{values.weights, values.reduced, values.states, update.decision, buckets[b].decays};
    if (buckets[b].rule == UpdateRule::balance)
      balance_update(args, buckets[b], placer);
    else
      optimizer.update(args, placer);
  }
  return update;
}

}  // namespace tessera
