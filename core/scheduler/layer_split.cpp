// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/layer_split.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

constexpr double k_impossible = std::numeric_limits<double>::infinity();
/// Sums of the same costs in another order count as equal.
constexpr double k_tolerance = 1e-9;

double node_flops(const Graph& graph, const Node& node) {
  if (node.repeat) return 0;  // further rounds of an even spread: none
  if (node.op->flops == nullptr) return 0;
  std::vector<Type> in, out;
  for (Value v : node.in) in.push_back(v ? graph[v].type : Type{{}, DType::u8});
  for (Value v : node.out) out.push_back(graph[v].type);
  return node.op->flops({in, out, node.attributes});
}

/// Cuts n layers, the last ones first: best[c][i] is the best that c chunks can do with the layers from i on.
class Cut {
 public:
  Cut(const LayerCosts& costs, int chunks)
      : layers_(costs.layers.size()), chunks_(static_cast<std::size_t>(chunks)), before_(layers_ + 1, 0) {
    for (std::size_t i = 0; i < layers_; ++i) before_[i + 1] = before_[i] + costs.layers[i];
    for (std::size_t i = 1; i <= layers_; ++i) before_[i] += costs.embedding;
    before_[layers_] += costs.head;
  }

  /// The smallest sum over chunks of the square of their costs, no chunk dearer than `limit`.
  std::vector<int> most_even(double limit) {
    fill([&](double cost, double rest) { return cost > limit ? k_impossible : cost * cost + rest; });
    std::vector<int> counts;
    std::size_t begin = 0;
    for (std::size_t left = chunks_; left > 0; --left) {
      counts.push_back(static_cast<int>(ends_[left][begin] - begin));
      begin = ends_[left][begin];
    }
    return counts;
  }

  double smallest_maximum() {
    fill([](double cost, double rest) { return std::max(cost, rest); });
    return best_[chunks_][0];
  }

 private:
  template <class Join>
  void fill(Join join) {
    best_.assign(chunks_ + 1, std::vector<double>(layers_ + 1, k_impossible));
    ends_.assign(chunks_ + 1, std::vector<std::size_t>(layers_ + 1, 0));
    best_[0][layers_] = 0;
    for (std::size_t left = 1; left <= chunks_; ++left)
      for (std::size_t begin = 0; begin < layers_; ++begin)
        for (std::size_t end = begin + 1; end <= layers_; ++end) {
          const double value = join(before_[end] - before_[begin], best_[left - 1][end]);
          if (!(value < best_[left][begin] * (1 - k_tolerance))) continue;
          best_[left][begin] = value;
          ends_[left][begin] = end;
        }
  }

  std::size_t layers_, chunks_;
  std::vector<double> before_;  ///< cost of what stands before layer i
  std::vector<std::vector<double>> best_;
  std::vector<std::vector<std::size_t>> ends_;  ///< of the first chunk in the best cut
};

}  // namespace

LayerCosts layer_costs(const Graph& logical) {
  LayerCosts costs;
  for (const Node& node : logical.nodes) {
    const double flops = node_flops(logical, node);
    if (node.layer == k_embedding) {
      costs.embedding += flops;
    } else if (node.layer == k_head) {
      costs.head += flops;
    } else {
      const auto layer = static_cast<std::size_t>(node.layer);
      if (costs.layers.size() <= layer) costs.layers.resize(layer + 1, 0);
      costs.layers[layer] += flops;
    }
  }
  return costs;
}

std::vector<int> split_by_cost(const LayerCosts& costs, int chunks) {
  const auto layers = static_cast<int>(costs.layers.size());
  if (layers < chunks)
    throw Error(ErrorKind::configuration,
                fmt::format("{} layers cannot be cut into {} chunks of at least one layer", layers, chunks),
                "Use fewer stages or fewer chunks per stage.");
  Cut cut(costs, chunks);
  return cut.most_even(cut.smallest_maximum() * (1 + k_tolerance));
}

ChunkMap chunk_map(std::span<const int> counts) {
  ChunkMap map;
  for (std::size_t chunk = 0; chunk < counts.size(); ++chunk)
    map.layers.insert(map.layers.end(), static_cast<std::size_t>(counts[chunk]), static_cast<int>(chunk));
  return map;
}

}  // namespace tessera
