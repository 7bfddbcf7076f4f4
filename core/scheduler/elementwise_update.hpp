// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  ops that update weights and states in place, elementwise: the shape that most optimizers have.
// Used: optimizer modules.
// Must not know: which optimizer.
#pragma once

#include "core/graph/op.hpp"

namespace tessera {

/// Rules of an op with inputs (weights, gradient, states…, decision) and no outputs: all but the decision share one
/// layout, which nobody may convert, and the decision is whole. Give the op `mutates` for weights and states.
std::vector<Type> elementwise_update_type(const TypeArgs& args);
LayoutAnswer elementwise_update_layout(const Op& op, const LayoutArgs& args);

}  // namespace tessera
