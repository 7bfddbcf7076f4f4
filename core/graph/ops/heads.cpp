// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/heads.hpp"

#include <fmt/core.h>

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

std::vector<Type> split_type(const TypeArgs& args) {
  const Type& x = args.in[0];
  const std::int64_t head_dim = args.attributes.as<attributes::Heads>().head_dim;
  TESSERA_CHECK(x.shape.rank() == 3 && x.shape[2] % head_dim == 0, to_string(x.shape));
  return {{Shape{x.shape[0], x.shape[1], x.shape[2] / head_dim, head_dim}, x.dtype}};
}

std::vector<Type> merge_type(const TypeArgs& args) {
  const Shape& x = args.in[0].shape;
  TESSERA_CHECK(x.rank() == 4, to_string(x));
  return {{Shape{x[0], x[1], x[2] * x[3]}, args.in[0].dtype}};
}

/// A split of the features is a split of the heads where the number of heads divides: an uneven split would cut a head.
/// The view passes every other placement, partial ones too; the head dim must be whole.
LayoutAnswer heads_layout(const Op&, const LayoutArgs& args) {
  Layout layout = args.in[0];
  layout.splits(3) = {};
  const std::int64_t head_dim = args.attributes.as<attributes::Heads>().head_dim;
  const std::int64_t heads = args.types[0].shape.count_from(2) / head_dim;
  AxisList even;
  std::int64_t parts = 1;
  for (AxisId axis : layout.splits(2)) {
    parts *= args.mesh.axis(axis).size;
    if (heads % parts != 0) break;
    even.push_back(axis);
  }
  layout.splits(2) = even;
  return {{layout}, {layout}};
}

void split_heads_gradient(GradientScope& g) {
  g.add(0, g.emit(merge_heads, {g.gradient()}, g.attributes()));
}
void merge_heads_gradient(GradientScope& g) {
  g.add(0, g.emit(split_heads, {g.gradient()}, g.attributes()));
}

}  // namespace

const Op split_heads{.name = "split_heads",
                     .labels = "sbf -> sbnd",
                     .memory = Memory::view,
                     .type = split_type,
                     .layout = heads_layout,
                     .gradient = split_heads_gradient};
const Op merge_heads{.name = "merge_heads",
                     .labels = "sbnd -> sbf",
                     .memory = Memory::view,
                     .type = merge_type,
                     .layout = heads_layout,
                     .gradient = merge_heads_gradient};

}  // namespace tessera::ops
