// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/masked_sum.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

std::vector<Type> masked_sum_type(const TypeArgs&) {
  return {{Shape{}, DType::f64}};
}
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
                    .type = masked_sum_type,
                    .gradient = masked_sum_gradient};
const Op spread{.name = "spread", .labels = ", .. -> ..", .priority = "10", .type = spread_type};

}  // namespace tessera::ops
