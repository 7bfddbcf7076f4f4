// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/add.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void add_gradient(GradientScope& g) {
  g.add(0, g.gradient());
  g.add(1, g.gradient());
}

/// Splits of the first operand, then what the second adds to them, in its order. Partial beside partial stays partial;
/// replicated beside partial becomes partial by the mask, never by plain addition: the silent bug of hand-written
/// reductions. Only sums: the sum of two maxima is not the maximum of sums.
LayoutAnswer add_layout(const Op&, const LayoutArgs& args) {
  const Layout &x = args.in[0], &y = args.in[1];
  Layout layout = x.dual();
  for (int dim = 0; dim < args.types[0].shape.rank(); ++dim)
    for (AxisId axis : y.splits(dim))
      if (!x.of(axis).is_split()) layout.splits(dim).push_back(axis);
  layout.set_partial((x.partial(Merge::sum) | y.partial(Merge::sum)) - layout.split_axes(), Merge::sum);
  return {{layout, layout}, {layout}};
}

/// What is added into stays as it lies.
LayoutAnswer add_into_layout(const Op&, const LayoutArgs& args) {
  return {{args.in[0], args.in[0]}, {args.in[0]}};
}

}  // namespace

const Op add{.name = "add",
             .labels = "..,.. -> ..",
             .memory = Memory::may_overwrite,
             .layout = add_layout,
             .gradient = add_gradient};
const Op add_into{.name = "add_into",
                  .labels = "..,.. -> ..",
                  .memory = Memory::in_place,
                  .layout = add_into_layout,
                  .gradient = add_gradient};
const Op accumulate{.name = "accumulate", .labels = ".. -> ..~", .passes_partial = "0", .accumulates = "0"};

}  // namespace tessera::ops
