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

  /// Splits `world` once per set, in the given order; collective. Rank r of the world stands at place r of the mesh.
  AxisCommunicators(Communicator& world, const Mesh& mesh, const std::vector<AxisSet>& sets);

  Communicator& at(AxisSet axes) const;

 private:
  std::map<AxisSet, std::unique_ptr<Communicator>> communicators_;
};

}  // namespace tessera
