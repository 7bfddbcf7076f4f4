// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/tensor_part.hpp"

namespace tessera {

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
                       mesh.all() - graph[parameter.value].layout.split_axes()});
    }
  }
  return parts;
}

}  // namespace tessera
