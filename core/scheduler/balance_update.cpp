// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/balance_update.hpp"

#include "core/base/op_attributes.hpp"
#include "core/scheduler/elementwise_update.hpp"

namespace tessera {
namespace {

/// biases, load pn, decision. A mean needs all experts of a layer: no axis splits them.
const Op k_op{
    .name = "balance_bias", .mutates = "0", .type = elementwise_update_type, .layout = elementwise_update_layout};

attributes::BalanceBias record_of(const Bucket& bucket, const Graph& graph) {
  const auto& members = bucket.members;
  const std::int64_t experts = members[0].slab.extent.count();
  const std::int64_t stride = members.size() > 1 ? members[1].offset - members[0].offset : experts;
  for (std::size_t i = 0; i < members.size(); ++i)
    TESSERA_CHECK(
        members[i].slab.extent.count() == experts && members[i].offset == static_cast<std::int64_t>(i) * stride,
        "layers of unequal numbers of experts");
  return {graph.parameters[static_cast<std::size_t>(members[0].parameter)].rate, experts, stride};
}

}  // namespace

void balance_update(const UpdateArgs& args, const Bucket& bucket, Placer& placer) {
  TESSERA_CHECK(bucket.split.empty(), "a strategy splits biases of routers");
  const Value in[] = {args.weights, args.gradient, args.decision};
  placer.emit(k_op, in, Attributes::of(record_of(bucket, placer.graph())));
}

}  // namespace tessera
