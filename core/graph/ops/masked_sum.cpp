// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/masked_sum.hpp"

#include "core/graph/gradient_scope.hpp"
#include "core/graph/label_rule.hpp"

namespace tessera::ops {
namespace {

std::vector<Type> spread_type(const TypeArgs& args) {
  return {args.in[1]};
}

void masked_sum_gradient(GradientScope& g) {
  g.add(0, g.emit(spread, {g.gradient(), g.input(1)}));
}

}  // namespace

const Op masked_sum{.name = "masked_sum",
                    .labels = "..,.. -> ",
                    .sum = ".",
                    .accumulates = "0",
                    .type = f64_scalar,
                    .gradient = masked_sum_gradient};
const Op spread{.name = "spread", .labels = ", .. -> ..", .priority = "10", .type = spread_type};

}  // namespace tessera::ops
