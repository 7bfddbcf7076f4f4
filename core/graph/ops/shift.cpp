// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/shift.hpp"

#include <fmt/core.h>

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

/// The axes become the outermost of dim 0; every other placement passes, partial ones too.
LayoutAnswer shift_layout(const Op&, const LayoutArgs& args) {
  const AxisSet axes(static_cast<std::uint16_t>(args.attributes.as<attributes::Shift>().axes));
  const Shape& shape = args.types[0].shape;
  TESSERA_CHECK(shape[0] % args.mesh.size_of(axes) == 0,
                fmt::format("{} tokens in {} blocks", shape[0], args.mesh.size_of(axes)));
  Layout layout = args.in[0];
  layout.clear_partial(axes);
  for (int dim = 0; dim < shape.rank(); ++dim) {
    AxisList kept = dim == 0 ? args.mesh.outer_first(axes) : AxisList{};
    for (AxisId axis : args.in[0].splits(dim))
      if (!axes.has(axis)) kept.push_back(axis);
    layout.splits(dim) = kept;
  }
  return {{layout}, {layout}};
}

void shift_gradient(GradientScope& g) {
  const auto record = g.attributes().as<attributes::Shift>();
  g.add(0, g.emit(shift, {g.gradient()}, Attributes::of(attributes::Shift{record.axes, -record.by})));
}

}  // namespace

const Op shift{.name = "shift", .labels = ".. -> ..", .layout = shift_layout, .gradient = shift_gradient};

Attributes shift_by(AxisSet axes, std::int64_t by) {
  return Attributes::of(attributes::Shift{axes.bits(), by});
}

}  // namespace tessera::ops
