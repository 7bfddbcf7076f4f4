// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/embed.hpp"

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void embed_gradient(GradientScope& g) {
  const attributes::Extent rows{g.type(g.input(0)).shape[0]};
  g.add(0, g.emit_like(0, embed_grad, {g.gradient(), g.input(1)}, Attributes::of(rows)));
}

std::vector<Type> embed_grad_type(const TypeArgs& args) {
  const Shape& dy = args.in[0].shape;
  return {
      {Shape{args.attributes.as<attributes::Extent>().extent, dy[dy.rank() - 1]}, accumulation_of(args.in[0].dtype)}};
}

double bytes_of(const Type& type) {
  return static_cast<double>(type.shape.count() * size_of(type.dtype));
}

/// Of the table only the rows that are named.
double embed_bytes(const CostArgs& args) {
  return bytes_of(args.in[1]) + 2 * bytes_of(args.out[0]);
}

double embed_grad_bytes(const CostArgs& args) {
  return bytes_of(args.in[1]) + 3 * bytes_of(args.in[0]);
}

}  // namespace

const Op embed{
    .name = "embed", .labels = "vh*, .. -> ..h", .sum = "v", .gradient = embed_gradient, .bytes = embed_bytes};
const Op embed_grad{.name = "embed_grad",
                    .labels = "..h, .. -> vh~",
                    .sum = ".",
                    .passes_partial = "0",
                    .free = "v",
                    .accumulates = "0",
                    .type = embed_grad_type,
                    .bytes = embed_grad_bytes};

}  // namespace tessera::ops
