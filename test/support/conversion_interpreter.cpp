// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/conversion_interpreter.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace tessera::testing_support {
namespace {

using Index = std::array<std::int64_t, Shape::k_max_rank>;

/// Calls visit(index) for every index of a box of the given extents.
void for_each_index(const Shape& extent, const std::function<void(const Index&)>& visit) {
  if (extent.count() == 0) return;
  Index index{};
  for (;;) {
    visit(index);
    int dim = extent.rank() - 1;
    for (; dim >= 0; --dim) {
      if (++index[static_cast<std::size_t>(dim)] < extent[dim]) break;
      index[static_cast<std::size_t>(dim)] = 0;
    }
    if (dim < 0) return;
  }
}

std::size_t offset_of(const Shape& shape, const Index& index, const Index& start = {}) {
  std::int64_t offset = 0;
  for (int dim = 0; dim < shape.rank(); ++dim)
    offset = offset * shape[dim] + index[static_cast<std::size_t>(dim)] + start[static_cast<std::size_t>(dim)];
  return static_cast<std::size_t>(offset);
}

double identity(Merge merge) {
  return merge == Merge::sum ? 0.0 : -std::numeric_limits<double>::infinity();
}
double merged(Merge merge, double a, double b) {
  return merge == Merge::sum ? a + b : std::max(a, b);
}

std::vector<int> coordinates(const Mesh& mesh, int rank, AxisSet axes) {
  std::vector<int> result;
  for (int a = 0; a < mesh.axes(); ++a)
    if (axes.has(static_cast<AxisId>(a))) result.push_back(mesh.coordinate(rank, static_cast<AxisId>(a)));
  return result;
}

Part merge_parts(Merge merge, const Parts& parts, const std::vector<int>& ranks) {
  Part sum = parts[static_cast<std::size_t>(ranks[0])];
  for (std::size_t i = 1; i < ranks.size(); ++i)
    for (std::size_t e = 0; e < sum.data.size(); ++e)
      sum.data[e] = merged(merge, sum.data[e], parts[static_cast<std::size_t>(ranks[i])].data[e]);
  return sum;
}

}  // namespace

Part cut(const Part& whole, const Index& start, const Shape& extent) {
  Part part{extent, std::vector<double>(static_cast<std::size_t>(extent.count()))};
  for_each_index(extent, [&](const Index& index) {
    part.data[offset_of(extent, index)] = whole.data[offset_of(whole.shape, index, start)];
  });
  return part;
}

Parts scatter(const Mesh& mesh, const Layout& layout, const Part& whole) {
  Parts parts;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const Slab slab = slab_of(mesh, layout, whole.shape, rank);
    parts.push_back(cut(whole, slab.start, slab.extent));
  }
  return parts;
}

Part assemble(const Mesh& mesh, const Layout& layout, const Shape& global, const Parts& parts, bool& replicas_equal) {
  // First one representative of every replica group, then the sum over partial axes.
  std::map<std::vector<int>, int> representative;
  const Merge merge = layout.partial(Merge::max).empty() ? Merge::sum : Merge::max;
  Part whole{global, std::vector<double>(static_cast<std::size_t>(global.count()), identity(merge))};
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const auto key = coordinates(mesh, rank, layout.split_axes() | layout.partial());
    const Part& part = parts[static_cast<std::size_t>(rank)];
    const auto [it, fresh] = representative.emplace(key, rank);
    if (!fresh) {
      if (!(parts[static_cast<std::size_t>(it->second)] == part)) replicas_equal = false;
      continue;
    }
    const Slab slab = slab_of(mesh, layout, global, rank);
    for_each_index(slab.extent, [&](const Index& index) {
      double& element = whole.data[offset_of(global, index, slab.start)];
      element = merged(merge, element, part.data[offset_of(slab.extent, index)]);
    });
  }
  return whole;
}

Parts apply(const Mesh& mesh, const Layout& from, const Conversion& conversion, const Shape& global,
            const Parts& parts) {
  using Kind = ConversionStep::Kind;
  const ConversionStep& step = conversion.step;
  Parts result(parts.size());
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> group = mesh.group(rank, step.axes.set());
    const Slab before = slab_of(mesh, from, global, rank), after = slab_of(mesh, conversion.after, global, rank);
    Part& out = result[static_cast<std::size_t>(rank)];
    if (step.kind == Kind::mask) {
      out = parts[static_cast<std::size_t>(rank)];
      if (group[0] != rank) std::fill(out.data.begin(), out.data.end(), identity(step.merge));
      continue;
    }
    const bool gathers = step.from_dim >= 0;
    // What the group holds together, as a part of the whole value: a box that starts where its members' boxes start.
    Slab box = before;
    Part held = parts[static_cast<std::size_t>(rank)];
    if (step.kind == Kind::all_reduce || step.kind == Kind::reduce_scatter)
      held = merge_parts(step.merge, parts, group);
    if (gathers) {
      Layout gathered = from;
      for (int i = 0; i < step.axes.size(); ++i) gathered.splits(step.from_dim).pop_back();
      box = slab_of(mesh, gathered, global, rank);
      held = {box.extent, std::vector<double>(static_cast<std::size_t>(box.extent.count()))};
      for (int member : group) {
        const Slab piece = slab_of(mesh, from, global, member);
        Index relative{};
        for (std::size_t d = 0; d < relative.size(); ++d) relative[d] = piece.start[d] - box.start[d];
        for_each_index(piece.extent, [&](const Index& index) {
          held.data[offset_of(box.extent, index, relative)] =
              parts[static_cast<std::size_t>(member)].data[offset_of(piece.extent, index)];
        });
      }
    }
    Index relative{};
    for (std::size_t d = 0; d < relative.size(); ++d) relative[d] = after.start[d] - box.start[d];
    out = cut(held, relative, after.extent);
  }
  return result;
}

}  // namespace tessera::testing_support
