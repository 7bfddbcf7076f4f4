// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/receive.hpp"

#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

void receive_gradient(GradientScope& g) {
  g.add(0, g.gradient());
}

}  // namespace

const Op receive{.name = "receive", .labels = ".. -> ..", .gradient = receive_gradient};

}  // namespace tessera::ops
