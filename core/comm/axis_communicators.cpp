// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/axis_communicators.hpp"

#include <fmt/core.h>

namespace tessera {

AxisCommunicators::AxisCommunicators(Communicator& world, const Mesh& mesh, const std::vector<AxisGroup>& groups) {
  TESSERA_CHECK(world.size() == mesh.size(), fmt::format("{} ranks, mesh {}", world.size(), mesh.describe()));
  for (const AxisGroup& group : groups) {
    if (communicators_.contains(group)) continue;
    const bool member = group.home.has(mesh.stage_of(world.rank()));
    const int color = member ? mesh.group(world.rank(), group)[0] : -1;
    communicators_[group] = world.split(color, world.rank(), mesh.describe(group));
  }
}

Communicator& AxisCommunicators::at(const AxisGroup& group) const {
  const auto found = communicators_.find(group);
  TESSERA_CHECK(found != communicators_.end() && found->second != nullptr,
                fmt::format("no communicator for axes {:#x}", group.axes.bits()));
  return *found->second;
}

}  // namespace tessera
