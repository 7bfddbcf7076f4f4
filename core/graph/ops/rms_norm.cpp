// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/rms_norm.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void rms_norm_gradient(GradientScope& g) {
  const auto grads = g.emit_all(rms_norm_grad, {g.gradient(), g.input(0), g.output(1), g.input(1)});
  g.add(0, grads[0]);
  g.add(1, grads[1]);
}

}  // namespace

const Op rms_norm{.name = "rms_norm", .labels = "..h, h* -> ..h, ..~", .whole = "h", .gradient = rms_norm_gradient};
const Op rms_norm_grad{.name = "rms_norm_grad",
                       .labels = "..h, ..h, .., h* -> ..h, h~",
                       .sum = ".",
                       .whole = "h",
                       .passes_partial = "0",
                       .accumulates = "1"};

}  // namespace tessera::ops
