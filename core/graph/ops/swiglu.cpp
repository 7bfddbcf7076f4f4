// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/swiglu.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void swiglu_gradient(GradientScope& g) {
  const auto grads = g.emit_all(swiglu_grad, {g.gradient(), g.input(0), g.input(1)});
  g.add(0, grads[0]);
  g.add(1, grads[1]);
}

}  // namespace

const Op swiglu{.name = "swiglu", .labels = "..f, ..f -> ..f", .gradient = swiglu_gradient};
const Op swiglu_grad{.name = "swiglu_grad", .labels = "..f, ..f, ..f -> ..f, ..f", .passes_partial = "0"};

}  // namespace tessera::ops
