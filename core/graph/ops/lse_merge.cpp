// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/lse_merge.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void lse_merge_gradient(GradientScope& g) {
  const auto gradients = g.emit_all(lse_merge_grad, {g.gradient(0), g.gradient(1), g.input(0), g.input(1), g.input(2),
                                                     g.input(3), g.output(0), g.output(1)});
  for (int i = 0; i < 4; ++i) g.add(i, gradients[static_cast<std::size_t>(i)]);
}

}  // namespace

const Op lse_merge{.name = "lse_merge",
                   .labels = "sbnd, sbn, sbnd, sbn -> sbnd, sbn~",
                   .whole = "d",
                   .memory = Memory::may_overwrite,
                   .gradient = lse_merge_gradient};
const Op lse_merge_grad{.name = "lse_merge_grad",
                        .labels = "sbnd, sbn, sbnd, sbn, sbnd, sbn, sbnd, sbn -> sbnd, sbn~, sbnd, sbn~",
                        .whole = "d",
                        .passes_partial = "01",
                        .optional = "1"};

}  // namespace tessera::ops
