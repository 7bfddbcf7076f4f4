// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/layer_norm.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void layer_norm_gradient(GradientScope& g) {
  const auto grads = g.emit_all(layer_norm_grad, {g.gradient(), g.input(0), g.output(1), g.output(2), g.input(1)});
  for (int i = 0; i < 3; ++i) g.add(i, grads[static_cast<std::size_t>(i)]);
}

}  // namespace

const Op layer_norm{
    .name = "layer_norm", .labels = "..h, h*, h* -> ..h, ..~, ..~", .whole = "h", .gradient = layer_norm_gradient};
const Op layer_norm_grad{.name = "layer_norm_grad",
                         .labels = "..h, ..h, .., .., h* -> ..h, h~, h~",
                         .sum = ".",
                         .whole = "h",
                         .passes_partial = "0",
                         .accumulates = "12"};

}  // namespace tessera::ops
