// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/gelu.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void gelu_gradient(GradientScope& g) {
  g.add(0, g.emit(gelu_grad, {g.gradient(), g.input(0)}, g.attributes()));
}

}  // namespace

const Op gelu{.name = "gelu", .labels = "..f -> ..f", .gradient = gelu_gradient};
const Op gelu_grad{.name = "gelu_grad", .labels = "..f, ..f -> ..f", .passes_partial = "0"};

}  // namespace tessera::ops
