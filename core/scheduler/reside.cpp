// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/reside.hpp"

#include "core/scheduler/bucket.hpp"

namespace tessera {
namespace {

void lay_out_buckets(const Graph& graph, const Update& update, Lowering& lowering, Plan& plan) {
  const std::vector<std::int32_t> accumulator_of = graph.gradient_accumulators();

  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    Bucket& bucket = plan.buckets[b];
    const std::int64_t element = size_of(bucket.dtype), bytes = bucket.elements * element;
    Storage& storage = lowering.storage();
    bucket.weights = storage.reserve(Tag::weights, bytes);
    const bool trains = bucket.trained && !update.buckets.empty();
    if (trains) {
      const BucketValues& values = update.buckets[b];
      bucket.gradients = storage.reserve(Tag::gradients, bytes);
      bucket.states.clear();
      for (Value state : values.states) {
        bucket.states.push_back(storage.reserve(Tag::optimizer, bytes));
        lowering.fix(state, bucket.states.back());
      }
      lowering.fix(values.weights, bucket.weights);
      lowering.fix(values.gradient, bucket.gradients);
    }
    for (const BucketMember& member : bucket.members) {
      const auto p = static_cast<std::size_t>(member.parameter);
      auto at = [&](Address base) { return Address{base.tag, base.offset + member.offset * element}; };
      lowering.fix(graph.parameters[p].value, at(bucket.weights));
      if (trains) lowering.fix_accumulator(accumulator_of[p], at(bucket.gradients));
    }
  }
}

void add_groups(const Agenda& agenda, int micro_batches, Lowering& lowering) {
  lowering.add_copies(Copies::inputs, micro_batches);
  for (int kind = 0; kind < k_copies; ++kind)
    if (const int count = agenda.counts[static_cast<std::size_t>(kind)]; count > 0)
      lowering.add_copies(static_cast<Copies>(kind), count);
}

void lay_out_inputs(const Graph& graph, Lowering& lowering, Plan& plan) {
  for (Value v : graph.inputs) {
    plan.inputs.push_back(lowering.place_input(v));
    plan.input_names.push_back(graph[v].name);
  }
}

}  // namespace

void reside(const Graph& graph, const Update& update, const Agenda& agenda, int micro_batches, Lowering& lowering,
            Plan& plan) {
  add_groups(agenda, micro_batches, lowering);
  lay_out_buckets(graph, update, lowering, plan);
  for (std::size_t a = 0; a < graph.accumulators.size(); ++a)
    if (const Accumulator& total = graph.accumulators[a]; total.parameter < 0)
      lowering.fix_accumulator(static_cast<std::int32_t>(a),
                               lowering.storage().reserve(Tag::state, lowering.local_bytes(total.total)));
  for (std::size_t v = 0; v < graph.values.size(); ++v)
    if (const Value state{static_cast<std::int32_t>(v)};
        graph[state].role == ValueRole::state && !lowering.is_fixed(state))
      lowering.fix(state, lowering.storage().reserve(Tag::state, lowering.local_bytes(state)));
  lay_out_inputs(graph, lowering, plan);
}

}  // namespace tessera
