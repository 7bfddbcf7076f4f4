// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the communicators of axis sets, made from the world's in one order on all ranks.
// Used: the executor.
// Must not know: plans, which calls will be made.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/mesh/mesh.hpp"

namespace tessera {

class AxisCommunicators {
 public:
  AxisCommunicators() = default;

  /// Splits `world` once per group, in the given order; collective, with the same list on all ranks. Rank r of the
  /// world stands at place r of the mesh; ranks on stages outside a group's home get none.
  AxisCommunicators(Communicator& world, const Mesh& mesh, const std::vector<AxisGroup>& groups);

  Communicator& at(const AxisGroup& group) const;

 private:
  std::map<AxisGroup, std::unique_ptr<Communicator>> communicators_;
};

}  // namespace tessera
