// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/mesh/layout.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace tessera {

void Layout::set_partial(AxisSet axes, Merge merge) {
  (merge == Merge::sum ? sum_ : max_) = partial(merge) | axes;
}

void Layout::clear_partial(AxisSet axes) {
  sum_ = sum_ - axes;
  max_ = max_ - axes;
}

AxisSet Layout::split_axes() const {
  AxisSet all;
  for (const AxisList& axes : splits_) all = all | axes.set();
  return all;
}

Placement Layout::of(AxisId axis) const {
  if (sum_.has(axis)) return Placement::partial(Merge::sum);
  if (max_.has(axis)) return Placement::partial(Merge::max);
  for (int dim = 0; dim < Shape::k_max_rank; ++dim)
    if (splits(dim).has(axis)) return Placement::split(dim);
  return Placement::replicated();
}

Layout Layout::dual() const {
  Layout dual = *this;
  dual.clear_partial(partial());
  return dual;
}

Range part_of(Range whole, int parts, int index) {
  const std::int64_t size = (whole.size() + parts - 1) / parts;
  const std::int64_t begin = std::min(whole.begin + index * size, whole.end);
  return {begin, std::min(begin + size, whole.end)};
}

Range part_of(const Mesh& mesh, std::int64_t extent, const AxisList& axes, int rank) {
  Range range{0, extent};
  for (AxisId axis : axes) range = part_of(range, mesh.axis(axis).size, mesh.coordinate(rank, axis));
  return range;
}

Slab slab_of(const Mesh& mesh, const Layout& layout, const Shape& global, int rank) {
  Slab slab;
  slab.extent = global;
  for (int dim = 0; dim < global.rank(); ++dim) {
    const Range range = part_of(mesh, global[dim], layout.splits(dim), rank);
    slab.start[static_cast<std::size_t>(dim)] = range.begin;
    slab.extent[dim] = range.size();
  }
  return slab;
}

std::string to_string(const Layout& layout, const Mesh& mesh) {
  std::string text;
  auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  for (int dim = 0; dim < Shape::k_max_rank; ++dim) {
    std::string axes;
    for (AxisId axis : layout.splits(dim)) axes += (axes.empty() ? "" : ".") + mesh.axis(axis).name;
    if (!axes.empty()) add(fmt::format("{}:{}", dim, axes));
  }
  if (!layout.partial(Merge::sum).empty()) add(fmt::format("sum({})", mesh.describe(layout.partial(Merge::sum))));
  if (!layout.partial(Merge::max).empty()) add(fmt::format("max({})", mesh.describe(layout.partial(Merge::max))));
  return text.empty() ? "replicated" : text;
}

}  // namespace tessera
