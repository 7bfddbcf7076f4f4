// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/step.hpp"

#include "core/graph/label_rule.hpp"

namespace tessera::ops {
namespace {

std::vector<Type> decision_type(const TypeArgs&) {
  return {{Shape{3}, DType::f64}};
}

/// A decision is made of a whole norm and is the same everywhere.
LayoutAnswer decision_layout(const Op&, const LayoutArgs&) {
  return {{Layout{}}, {Layout{}}};
}

std::vector<Type> pack_type(const TypeArgs& args) {
  std::int64_t count = 0;
  for (const Type& type : args.in) count += type.shape.count();
  return {{{count}, DType::f64}};
}

/// Sums stay partial together: what is whole already goes through the mask.
LayoutAnswer pack_layout(const Op&, const LayoutArgs& args) {
  Layout layout;
  for (const Layout& in : args.in) layout.set_partial(in.partial(Merge::sum), Merge::sum);
  return {std::vector<Layout>(args.in.size(), layout), {layout}};
}

}  // namespace

const Op total{.name = "total", .labels = ".. -> ", .sum = ".", .accumulates = "0", .type = f64_scalar};
const Op pack{.name = "pack", .type = pack_type, .layout = pack_layout};
const Op loss_seed{.name = "loss_seed", .labels = " -> "};
const Op sum_squares{.name = "sum_squares", .labels = "pn -> ", .sum = "pn", .type = f64_scalar};
const Op step_decision{.name = "step_decision", .labels = " -> ", .type = decision_type, .layout = decision_layout};

}  // namespace tessera::ops
