// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/grouped_linear.hpp"

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void grouped_linear_gradient(GradientScope& g) {
  if (g.wanted(0)) g.add(0, g.emit(grouped_linear_dx, {g.gradient(), g.input(1), g.input(2)}, g.attributes()));
  if (g.wanted(1)) g.add(1, g.emit_like(1, grouped_linear_dw, {g.gradient(), g.input(0), g.input(2)}, g.attributes()));
}

/// 2 · rows · in · out of the rows that are expected to be full.
double grouped_flops(const CostArgs& args) {
  const Shape& x = args.in[0].shape;
  const Shape& other = args.in[1].shape;
  const bool weight = other.rank() == 3;
  const std::int64_t width = x[x.rank() - 1];
  const std::int64_t out = weight ? (other[1] == width ? other[2] : other[1]) : other[other.rank() - 1];
  const double full = 1 - args.attributes.as<attributes::GroupedRows>().empty;
  return 2 * full * static_cast<double>(x.count()) * static_cast<double>(out);
}

}  // namespace

const Op grouped_linear{.name = "grouped_linear",
                        .labels = "epci, eoi*, ep -> epco",
                        .sum = "i",
                        .whole = "c",
                        .gradient = grouped_linear_gradient,
                        .flops = grouped_flops};
const Op grouped_linear_dx{
    .name = "grouped_linear_dx", .labels = "epco, eoi*, ep -> epci", .sum = "o", .whole = "c", .flops = grouped_flops};
const Op grouped_linear_dw{.name = "grouped_linear_dw",
                           .labels = "epco, epci, ep -> eoi~",
                           .sum = "p",
                           .whole = "c",
                           .accumulates = "0",
                           .flops = grouped_flops};

}  // namespace tessera::ops
