// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/faulty_strategy.hpp"

#include "core/graph/ops/rms_norm.hpp"

namespace tessera::testing_support {

bool FaultyStrategy::expand(const Node& node, Placer& placer, std::vector<Value>& out) const {
  if (node.op != &ops::rms_norm_grad || node.layer != layer_ || placer.mesh().size() == 1) return false;
  out = placer.emit(*node.op, {{node.in[0], node.in[0], node.in[2], node.in[3]}}, node.attributes);
  return true;
}

}  // namespace tessera::testing_support
