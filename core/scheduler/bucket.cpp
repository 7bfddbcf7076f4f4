// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/bucket.hpp"

namespace tessera {
namespace {

/// What must be equal in a bucket.
struct Key {
  bool has_gradient = false;
  bool decays = true;
  UpdateRule rule = UpdateRule::optimizer;
  AxisSet partial;
  AxisList split;
  Home home;
  DType dtype = DType::f32;
  friend bool operator==(const Key&, const Key&) = default;
};

AxisList split_axes(const Layout& layout) {
  AxisList axes;
  for (int dim = 0; dim < Shape::k_max_rank; ++dim)
    for (AxisId axis : layout.splits(dim)) axes.push_back(axis);
  return axes;
}

class Packer {
 public:
  Packer(const Graph& graph, const Mesh& mesh, int rank, std::int64_t limit)
      : graph_(graph), mesh_(mesh), rank_(rank), limit_(limit) {}

  std::vector<Bucket> pack() {
    std::vector<bool> packed(graph_.parameters.size());
    for (const Accumulator& accumulator : graph_.accumulators) {
      if (accumulator.parameter < 0 || !is_here(accumulator.parameter)) continue;
      add(accumulator.parameter, true, accumulator.layout.partial());
      packed[static_cast<std::size_t>(accumulator.parameter)] = true;
    }
    for (std::size_t p = 0; p < packed.size(); ++p)
      if (!packed[p] && is_here(static_cast<int>(p))) add(static_cast<int>(p), false, {});
    return std::move(buckets_);
  }

 private:
  bool is_here(int parameter) const {
    return graph_[graph_.parameters[static_cast<std::size_t>(parameter)].value].home.has(mesh_.stage_of(rank_));
  }

  void add(int index, bool has_gradient, AxisSet partial) {
    const Parameter& parameter = graph_.parameters[static_cast<std::size_t>(index)];
    const ValueInfo& info = graph_[parameter.value];
    const UpdateRule rule = parameter.role == ParameterRole::router_bias ? UpdateRule::balance : UpdateRule::optimizer;
    const Key key{has_gradient, parameter.decays, rule, partial, split_axes(info.layout), info.home, info.type.dtype};
    const Slab slab = slab_of(mesh_, info.layout, info.type.shape, rank_);
    const std::int64_t element = size_of(accumulation_of(info.type.dtype));
    Bucket& bucket = open_bucket(key, slab.extent.count() * element, element);
    bucket.elements = aligned(bucket.elements * element) / element;
    bucket.members.push_back({index, bucket.elements, slab});
    bucket.elements += slab.extent.count();
  }

  /// The last bucket of this key when the parameter still fits, else a new one.
  Bucket& open_bucket(const Key& key, std::int64_t bytes, std::int64_t element) {
    for (std::size_t b = keys_.size(); b-- > 0;) {
      if (keys_[b] != key) continue;
      if (limit_ == 0 || aligned(buckets_[b].elements * element) + bytes <= limit_) return buckets_[b];
      break;
    }
    keys_.push_back(key);
    Bucket bucket;
    bucket.decays = key.decays;
    bucket.rule = key.rule;
    bucket.trained = key.has_gradient;
    bucket.dtype = accumulation_of(key.dtype);
    bucket.partial = key.partial;
    bucket.split = key.split;
    bucket.home = key.home;
    buckets_.push_back(bucket);
    return buckets_.back();
  }

  const Graph& graph_;
  const Mesh& mesh_;
  int rank_;
  std::int64_t limit_;
  std::vector<Key> keys_;
  std::vector<Bucket> buckets_;
};

}  // namespace

std::vector<Bucket> make_buckets(const Graph& graph, const Mesh& mesh, int rank, std::int64_t bucket_bytes) {
  return Packer(graph, mesh, rank, bucket_bytes).pack();
}

}  // namespace tessera
