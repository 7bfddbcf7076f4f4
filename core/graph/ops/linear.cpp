// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/linear.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void linear_gradient(GradientScope& g) {
  if (g.wanted(0)) g.add(0, g.emit(linear_dx, {g.gradient(), g.input(1)}));
  if (g.wanted(1)) g.add(1, g.emit_like(1, linear_dw, {g.gradient(), g.input(0)}));
}

/// 2 · tokens · in · out for all three products.
double linear_flops(const CostArgs& args) {
  const Shape& x = args.in[0].shape;
  const Shape& other = args.in[1].shape;
  if (x.count() == 0) return 0;  // a rank without a part
  const bool weight = other.rank() == 2 && args.out[0].shape.rank() != 2;
  const auto rows = static_cast<double>(x.count());
  return 2 * rows * static_cast<double>(weight ? other.count() / x[x.rank() - 1] : other[other.rank() - 1]);
}

}  // namespace

const Op linear{
    .name = "linear", .labels = "..i, oi* -> ..o", .sum = "i", .gradient = linear_gradient, .flops = linear_flops};
const Op linear_dx{
    .name = "linear_dx", .labels = "..o, oi* -> ..i", .sum = "o", .passes_partial = "0", .flops = linear_flops};
const Op linear_dw{.name = "linear_dw",
                   .labels = "..o, ..i -> oi~",
                   .sum = ".",
                   .passes_partial = "0",
                   .accumulates = "0",
                   .flops = linear_flops};

}  // namespace tessera::ops
