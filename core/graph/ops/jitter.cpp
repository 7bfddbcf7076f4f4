// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/jitter.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

/// Linear with a diagonal matrix: the gradient is the same op with the same numbers.
void jitter_gradient(GradientScope& g) {
  g.add(0, g.emit(jitter, {g.gradient(), g.input(1), g.input(2)}, g.attributes()));
}

}  // namespace

const Op jitter{.name = "jitter", .labels = "sbh, sb, b -> sbh", .passes_partial = "0", .gradient = jitter_gradient};

}  // namespace tessera::ops
