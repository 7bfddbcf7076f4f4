// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/dropout.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

/// Linear with a diagonal matrix: the gradient is the same op with the same mask.
void dropout_gradient(GradientScope& g) {
  g.add(0, g.emit(dropout, {g.gradient(), g.input(1), g.input(2)}, g.attributes()));
}

}  // namespace

const Op dropout{.name = "dropout", .labels = "sbh, sb, b -> sbh", .passes_partial = "0", .gradient = dropout_gradient};

}  // namespace tessera::ops
