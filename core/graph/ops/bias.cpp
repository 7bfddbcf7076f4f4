// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/bias.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void add_bias_gradient(GradientScope& g) {
  g.add(0, g.gradient());
  if (g.wanted(1)) g.add(1, g.emit_like(1, bias_grad, {g.gradient()}));
}

}  // namespace

const Op add_bias{.name = "add_bias", .labels = "..o, o* -> ..o", .gradient = add_bias_gradient};
const Op bias_grad{.name = "bias_grad", .labels = "..o -> o~", .sum = ".", .passes_partial = "0", .accumulates = "0"};

}  // namespace tessera::ops
