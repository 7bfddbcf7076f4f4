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

}  // namespace

const Op total{.name = "total", .labels = ".. -> ", .sum = ".", .accumulates = "0", .type = f64_scalar};
const Op loss_seed{.name = "loss_seed", .labels = " -> "};
const Op sum_squares{.name = "sum_squares", .labels = "pn -> ", .sum = "pn", .type = f64_scalar};
const Op step_decision{.name = "step_decision", .labels = " -> ", .type = decision_type, .layout = decision_layout};

}  // namespace tessera::ops
