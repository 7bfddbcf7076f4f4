// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/naive_executor.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/base/counter_rng.hpp"
#include "core/base/op_attributes.hpp"
#include "core/graph/ops/convert.hpp"
#include "test/support/kernel_runner.hpp"

namespace tessera::test {
namespace {

using testing_support::Part;
using testing_support::Parts;

TensorValue tensor_at(const Slab& slab, DType dtype, const Values* values) {
  TensorValue tensor = values != nullptr ? TensorValue(dtype, slab.extent, *values) : TensorValue(dtype, slab.extent);
  for (int dim = 0; dim < slab.extent.rank(); ++dim)
    tensor = std::move(tensor).starting_at(dim, slab.start[static_cast<std::size_t>(dim)]);
  return tensor;
}

/// The first rank that holds the same bits as this one.
int first_replica(const Mesh& mesh, const Layout& layout, int rank) {
  AxisSet replicated;
  for (int a = 0; a < mesh.axes(); ++a)
    if (layout.of(static_cast<AxisId>(a)).is_replicated())
      replicated = replicated | AxisSet::of(static_cast<AxisId>(a));
  return mesh.group(rank, replicated)[0];
}

DType principal_dtype(const std::vector<Tensor>& in, const std::vector<Tensor>& out) {
  for (const auto* operands : {&in, &out})
    for (const Tensor& tensor : *operands)
      if (is_floating(tensor.dtype) && tensor.data != nullptr) return tensor.dtype;
  return DType::i64;
}

bool has_nan(const TensorValue& tensor) {
  if (!is_floating(tensor.tensor().dtype)) return false;
  const Values values = tensor.values();
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

}  // namespace

RankValues distribute(const Mesh& mesh, const Layout& layout, const Type& type, const Values& whole,
                      std::uint64_t seed) {
  const Parts parts = testing_support::scatter(mesh, layout.dual(), {type.shape, whole});
  std::vector<Values> held;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> group = mesh.group(rank, layout.partial());
    Values values = parts[static_cast<std::size_t>(rank)].data;
    const bool sum = layout.partial(Merge::max).empty();
    const auto draw = [&](int member, std::size_t i) {
      const int key = first_replica(mesh, layout, member);
      return 2 * CounterRng(seed, hash_name("summand"), static_cast<std::uint64_t>(key)).uniform(i) - 1;
    };
    // The last of the group holds what is missing; of a maximum, whoever the number of the element says holds it.
    for (std::size_t i = 0; i < values.size() && group.size() > 1; ++i) {
      if (!sum) {
        if (group[(i + seed) % group.size()] != rank) values[i] -= 1 + draw(rank, i);
      } else if (rank != group.back()) {
        values[i] = draw(rank, i);
      } else {
        for (int member : group)
          if (member != rank) values[i] -= draw(member, i);
      }
    }
    held.push_back(std::move(values));
  }
  RankValues result;
  for (int rank = 0; rank < mesh.size(); ++rank)
    result.push_back(
        tensor_at(slab_of(mesh, layout, type.shape, rank), type.dtype, &held[static_cast<std::size_t>(rank)]));
  return result;
}

void NaiveExecutor::set(Value v, const Values& whole, std::uint64_t seed) {
  const ValueInfo& info = graph_[v];
  TESSERA_CHECK(info.producer < 0, "a node makes " + info.name);
  parts_[static_cast<std::size_t>(v.id)] = distribute(mesh_, info.layout, info.type, whole, seed);
}

/// A body runs where its last node stands, so that all it reads from outside is there.
void NaiveExecutor::run() {
  std::map<std::pair<Phase, Value>, std::vector<const Node*>> bodies;
  for (const Node& node : graph_.nodes)
    if (node.repeat) bodies[{node.phase, node.repeat}].push_back(&node);
  for (const Node& node : graph_.nodes) {
    if (!node.repeat)
      run_node(node, 0);
    else if (const auto& body = bodies.at({node.phase, node.repeat}); body.back() == &node)
      run_body(body);
  }
}

void NaiveExecutor::run_body(const std::vector<const Node*>& nodes) {
  const auto parts = [&](Value v) -> RankValues& { return parts_[static_cast<std::size_t>(v.id)]; };
  const Value times = nodes.front()->repeat;
  for (const Node* node : nodes)
    if (node->op->memory == Memory::in_place) parts(node->out[0]) = parts(node->in[0]);
  for (std::int32_t round = 1; round <= static_cast<std::int32_t>(assemble(times)[0]); ++round)
    for (const Node* node : nodes) {
      run_node(*node, round);
      if (node->op->memory == Memory::in_place) parts(node->in[0]) = parts(node->out[0]);
    }
}

void NaiveExecutor::run_node(const Node& node, std::int32_t round) {
  if (node.op == &ops::convert) {
    parts_[static_cast<std::size_t>(node.out[0].id)] = converted(node);
  } else if (node.op->name == "shift") {
    parts_[static_cast<std::size_t>(node.out[0].id)] = shifted(node);
  } else {
    std::vector<RankValues> out = computed(node, round);
    for (std::size_t o = 0; o < out.size(); ++o) parts_[static_cast<std::size_t>(node.out[o].id)] = std::move(out[o]);
  }
  for (std::size_t o = 0; o < node.out.size(); ++o) {
    check(node, o);
    if (graph_[node.out[o]].accumulator >= 0) add_to_sum(node.out[o]);
  }
}

void NaiveExecutor::add_to_sum(Value v) {
  const ValueInfo& info = graph_[v];
  const Accumulator& target = graph_.accumulators[static_cast<std::size_t>(info.accumulator)];
  TESSERA_CHECK(info.layout == target.layout && info.type == target.type,
                fmt::format("{} is added into an accumulator of another layout or type", info.name));
  const Parts parts = parts_of(v);
  const auto [sum, is_first] = sums_.try_emplace(info.accumulator, parts);
  for (std::size_t rank = 0; !is_first && rank < parts.size(); ++rank)
    for (std::size_t i = 0; i < parts[rank].data.size(); ++i) sum->second[rank].data[i] += parts[rank].data[i];
}

Parts NaiveExecutor::parts_of(Value v) const {
  Parts parts;
  for (const TensorValue& tensor : parts_[static_cast<std::size_t>(v.id)])
    parts.push_back({tensor.tensor().shape, tensor.values()});
  TESSERA_CHECK(!parts.empty(), graph_[v].name + " has no parts yet");
  return parts;
}

RankValues NaiveExecutor::converted(const Node& node) const {
  const ValueInfo &from = graph_[node.in[0]], &to = graph_[node.out[0]];
  const Conversion conversion{node.attributes.as<ConversionStep>(), to.layout};
  const Parts parts = testing_support::apply(mesh_, from.layout, conversion, from.type.shape, parts_of(node.in[0]));
  RankValues result;
  for (int rank = 0; rank < mesh_.size(); ++rank) {
    const Part& part = parts[static_cast<std::size_t>(rank)];
    Slab slab = slab_of(mesh_, to.layout, to.type.shape, rank);
    slab.extent = part.shape;  // check() compares it with the layout
    result.push_back(tensor_at(slab, to.type.dtype, &part.data));
  }
  return result;
}

/// Every rank takes what the rank `by` places before it in its ring holds.
RankValues NaiveExecutor::shifted(const Node& node) const {
  const auto record = node.attributes.as<attributes::Shift>();
  const ValueInfo& to = graph_[node.out[0]];
  RankValues result;
  for (int rank = 0; rank < mesh_.size(); ++rank) {
    const std::vector<int> ring = mesh_.group(rank, AxisSet(static_cast<std::uint16_t>(record.axes)));
    const auto size = static_cast<std::int64_t>(ring.size());
    const std::int64_t here = std::find(ring.begin(), ring.end(), rank) - ring.begin();
    const std::int64_t there = ((here - record.by) % size + size) % size;
    const auto from = static_cast<std::size_t>(ring[static_cast<std::size_t>(there)]);
    const TensorValue& part = parts_[static_cast<std::size_t>(node.in[0].id)].at(from);
    const Values values = part.values();
    Slab slab = slab_of(mesh_, to.layout, to.type.shape, rank);
    slab.extent = part.tensor().shape;  // check() compares it with the layout
    result.push_back(tensor_at(slab, to.type.dtype, &values));
  }
  return result;
}

std::vector<RankValues> NaiveExecutor::computed(const Node& node, std::int32_t round) const {
  std::vector<RankValues> results(node.out.size());
  for (int rank = 0; rank < mesh_.size(); ++rank) {
    std::vector<Tensor> in, out;
    for (Value v : node.in)
      in.push_back(v ? parts_[static_cast<std::size_t>(v.id)].at(static_cast<std::size_t>(rank)).tensor()
                     : Tensor{nullptr, {}, {}, DType::u8});
    for (std::size_t o = 0; o < node.out.size(); ++o) {
      const ValueInfo& info = graph_[node.out[o]];
      results[o].push_back(tensor_at(slab_of(mesh_, info.layout, info.type.shape, rank), info.type.dtype, nullptr));
      out.push_back(results[o].back().tensor());
    }
    launch_kernel(node.op->name, principal_dtype(in, out), in, out, node.attributes, 0, step_, 1, round);
  }
  return results;
}

void NaiveExecutor::check(const Node& node, std::size_t output) const {
  const ValueInfo& info = graph_[node.out[output]];
  const RankValues& parts = parts_[static_cast<std::size_t>(node.out[output].id)];
  const std::string what = fmt::format("output {} of {} ({})", output, node.op->name, to_string(info.layout, mesh_));
  for (int rank = 0; rank < mesh_.size(); ++rank) {
    const TensorValue& part = parts[static_cast<std::size_t>(rank)];
    const Shape expected = slab_of(mesh_, info.layout, info.type.shape, rank).extent;
    TESSERA_CHECK(part.tensor().shape == expected, fmt::format("{}: rank {} holds {} instead of {}", what, rank,
                                                               to_string(part.tensor().shape), to_string(expected)));
    TESSERA_CHECK(!has_nan(part), fmt::format("{}: rank {} holds NaN", what, rank));
    const int first = first_replica(mesh_, info.layout, rank);
    TESSERA_CHECK(part.bytes() == parts[static_cast<std::size_t>(first)].bytes(),
                  fmt::format("{}: ranks {} and {} are replicas and differ", what, first, rank));
  }
}

Values NaiveExecutor::assemble(const Layout& layout, const Shape& shape, const Parts& parts) const {
  bool equal = true;
  const Part whole = testing_support::assemble(mesh_, layout, shape, parts, equal);
  TESSERA_CHECK(equal, "replicas differ: " + to_string(layout, mesh_));
  return whole.data;
}

Values NaiveExecutor::assemble(Value v) const {
  return assemble(graph_[v].layout, graph_[v].type.shape, parts_of(v));
}

Values NaiveExecutor::accumulated(std::int32_t accumulator) const {
  const Accumulator& target = graph_.accumulators[static_cast<std::size_t>(accumulator)];
  return assemble(target.layout, target.type.shape, sums_.at(accumulator));
}

}  // namespace tessera::test
