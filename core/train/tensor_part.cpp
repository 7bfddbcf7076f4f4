// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/tensor_part.hpp"

namespace tessera {
namespace {

/// What other stages hold, as parts without elements: so all ranks list the same tensors.
void add_foreign(const std::string& group, const Mesh& mesh, int rank, const Graph& graph,
                 std::vector<TensorPart>& parts) {
  if (parts.empty()) return;
  std::vector<bool> has(graph.parameters.size(), group == "model");
  for (const Accumulator& accumulator : graph.accumulators) {
    if (accumulator.parameter < 0) continue;
    const auto p = static_cast<std::size_t>(accumulator.parameter);
    has[p] = has[p] || group == "gradient" || graph.parameters[p].role != ParameterRole::router_bias;
  }
  for (std::size_t p = 0; p < has.size(); ++p) {
    const Parameter& parameter = graph.parameters[p];
    const ValueInfo& info = graph[parameter.value];
    if (!has[p] || info.home.has(mesh.stage_of(rank))) continue;
    Slab none{{}, info.type.shape};
    none.extent[0] = 0;
    parts.push_back({group, &parameter, info.type.shape, none, accumulation_of(info.type.dtype), nullptr, {}});
  }
}

}  // namespace

std::vector<TensorPart> tensor_parts(const std::string& group, const Mesh& mesh, const Plan& plan, const Graph& graph,
                                     const Arena& arena, Address (*base)(const Bucket&, std::size_t),
                                     std::size_t index) {
  std::vector<TensorPart> parts;
  for (const Bucket& bucket : plan.buckets) {
    const Address start = base(bucket, index);
    if (!start) continue;
    for (const BucketMember& member : bucket.members) {
      const Parameter& parameter = graph.parameters[static_cast<std::size_t>(member.parameter)];
      const Address at{start.tag, start.offset + member.offset * size_of(bucket.dtype)};
      parts.push_back({group, &parameter, graph[parameter.value].type.shape, member.slab, bucket.dtype, arena.at(at),
                       mesh.group_of(mesh.all() - graph[parameter.value].layout.split_axes(), bucket.home)});
    }
  }
  add_foreign(group, mesh, plan.rank, graph, parts);
  return parts;
}

}  // namespace tessera
