// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/rope.hpp"

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

/// A rotation's transpose is the rotation back.
void rope_gradient(GradientScope& g) {
  auto back = g.attributes().as<attributes::Rope>();
  back.sign = -back.sign;
  g.add(0, g.emit(rope, {g.gradient(), g.input(1)}, Attributes::of(back)));
}

}  // namespace

const Op rope{
    .name = "rope", .labels = "sbnd, sb -> sbnd", .whole = "d", .passes_partial = "0", .gradient = rope_gradient};

}  // namespace tessera::ops
