// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/cross_entropy.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

/// The loss does not depend on the shift, so no gradient flows there.
void softmax_sums_gradient(GradientScope& g) {
  g.add(0, g.emit(softmax_sums_grad, {g.output(0), g.gradient(1), g.gradient(2), g.input(2)}));
}

void token_loss_gradient(GradientScope& g) {
  const auto grads = g.emit_all(token_loss_grad, {g.gradient(), g.input(0)});
  g.add(0, grads[0]);
  g.add(2, grads[1]);
}

}  // namespace

const Op row_max{.name = "row_max", .labels = "..v -> ..~", .max = "v"};
const Op softmax_sums{.name = "softmax_sums",
                      .labels = "..v, .., .. -> ..v, ..~, ..~",
                      .sum = "v",
                      .memory = Memory::may_overwrite,
                      .gradient = softmax_sums_gradient};
const Op softmax_sums_grad{
    .name = "softmax_sums_grad", .labels = "..v, .., .., .. -> ..v", .memory = Memory::may_overwrite};
const Op token_loss{.name = "token_loss", .labels = "..,..,.. -> ..", .gradient = token_loss_gradient};
const Op token_loss_grad{.name = "token_loss_grad", .labels = ".., .. -> .., ..", .passes_partial = "0"};

}  // namespace tessera::ops
