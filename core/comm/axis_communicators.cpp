// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/axis_communicators.hpp"

#include <fmt/core.h>

namespace tessera {

AxisCommunicators::AxisCommunicators(Communicator& world, const Mesh& mesh, const std::vector<AxisSet>& sets) {
  TESSERA_CHECK(world.size() == mesh.size(), fmt::format("{} ranks, mesh {}", world.size(), mesh.describe()));
  for (AxisSet axes : sets) {
    if (communicators_.contains(axes)) continue;
    communicators_[axes] = world.split(mesh.group(world.rank(), axes)[0], world.rank(), mesh.describe(axes));
  }
}

Communicator& AxisCommunicators::at(AxisSet axes) const {
  const auto found = communicators_.find(axes);
  TESSERA_CHECK(found != communicators_.end(), fmt::format("no communicator for axes {:#x}", axes.bits()));
  return *found->second;
}

}  // namespace tessera
