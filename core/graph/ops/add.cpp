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

/// Splits of the first operand, then what the second adds to them. Partial beside partial stays partial; replicated
/// beside partial becomes partial by the mask, never by plain addition: the silent bug of hand-written reductions.
LayoutAnswer add_layout(const Op&, const LayoutArgs& args) {
  Layout layout = args.in[0];
  layout.clear_partial(layout.partial());
  for (int a = 0; a < args.mesh.axes(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    const Placement x = args.in[0].of(axis), y = args.in[1].of(axis);
    if (x.is_split()) continue;
    if (y.is_split())
      layout.splits(y.dim).push_back(axis);
    else if (x.is_partial() || y.is_partial())
      layout.set_partial(AxisSet::of(axis), Merge::sum);
  }
  // Where both split alike, the second operand's order stands: nothing is converted.
  return args.in[0] == args.in[1] ? LayoutAnswer{{args.in[0], args.in[1]}, {args.in[0]}}
                                  : LayoutAnswer{{layout, layout}, {layout}};
}

}  // namespace

const Op add{.name = "add", .labels = "..,.. -> ..", .memory = Memory::may_overwrite, .layout = add_layout,
             .gradient = add_gradient};
const Op accumulate{.name = "accumulate", .labels = ".. -> ..~", .passes_partial = "0", .accumulates = "0"};

}  // namespace tessera::ops
