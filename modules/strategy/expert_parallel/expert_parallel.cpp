// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/strategy/expert_parallel/expert_parallel.hpp"

#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace tessera {
namespace {

bool may_spread(const Axis& axis) {
  return axis.stem == "tp" || axis.stem == "cp" || axis.stem == "dp";
}

/// Numbers of ranks that whole axes and a divisor of the next one make up.
std::set<int> possible_sizes(const std::vector<Axis>& axes) {
  std::set<int> sizes;
  int product = 1;
  for (const Axis& axis : axes) {
    if (!may_spread(axis)) continue;
    for (int part = 1; part <= axis.size; ++part)
      if (axis.size % part == 0) sizes.insert(product * part);
    product *= axis.size;
  }
  return sizes;
}

}  // namespace

void ExpertParallel::factor(std::vector<Axis>& axes) const {
  const std::set<int> sizes = possible_sizes(axes);
  if (!sizes.contains(ranks_))
    throw Error(ErrorKind::configuration,
                fmt::format("parallel.expert = {} is not made of the fastest ranks of tensor, context and data "
                            "parallelism: whole sizes, and a divisor of the next",
                            ranks_),
                fmt::format("choose one of {}", fmt::join(sizes, ", ")));
  int left = ranks_;
  for (std::size_t a = 0; a < axes.size() && left > 1; ++a) {
    if (!may_spread(axes[a])) continue;
    if (axes[a].size > left) {
      const Axis whole = axes[a];
      axes[a] = {whole.name + ".expert", whole.stem, left};
      axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(a) + 1,
                  {whole.name + ".rest", whole.stem, whole.size / left});
    }
    axes[a].spreads_experts = true;
    left /= axes[a].size;
  }
}

/// In the order in which the parts that rows come from are split, so that all axes move from one dim to the other at
/// once.
void ExpertParallel::place_parameter(const Parameter& parameter, const Shape&, const Mesh& mesh, Layout& layout) const {
  if (parameter.role != ParameterRole::expert) return;
  layout.splits(0).append(mesh.expert_axes());
}

}  // namespace tessera
