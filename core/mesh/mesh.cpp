// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/mesh/mesh.hpp"

#include <fmt/core.h>

namespace tessera {

Mesh::Mesh(std::vector<Axis> axes) : axes_(std::move(axes)) {
  TESSERA_CHECK(static_cast<int>(axes_.size()) <= k_max_axes, fmt::format("{} axes", axes_.size()));
  for (const Axis& axis : axes_) {
    TESSERA_CHECK(axis.size >= 1, fmt::format("axis {} has size {}", axis.name, axis.size));
    if (axis.name == "pp" && axis.size > 1) stage_axis_ = static_cast<AxisId>(strides_.size());
    strides_.push_back(size_);
    size_ *= axis.size;
  }
}

int Mesh::stages() const {
  return stage_axis_ < 0 ? 1 : axis(stage_axis_).size;
}

int Mesh::stage_of(int rank) const {
  return stage_axis_ < 0 ? 0 : coordinate(rank, stage_axis_);
}

AxisGroup Mesh::group_of(AxisSet axes, Home home) const {
  return stage_axis_ >= 0 && axes.has(stage_axis_) ? AxisGroup{axes, home} : AxisGroup{axes, {}};
}

AxisId Mesh::find(std::string_view name) const {
  for (int a = 0; a < axes(); ++a)
    if (axes_[static_cast<std::size_t>(a)].name == name) return static_cast<AxisId>(a);
  throw Error(ErrorKind::internal, fmt::format("the mesh ({}) has no axis '{}'", describe(), name));
}

AxisList Mesh::factors(std::string_view stem) const {
  AxisList list;
  for (int a = axes() - 1; a >= 0; --a) {
    const Axis& axis = axes_[static_cast<std::size_t>(a)];
    if (axis.stem == stem && axis.size > 1) list.push_back(static_cast<AxisId>(a));
  }
  return list;
}

AxisList Mesh::outer_first(AxisSet set) const {
  AxisList list;
  for (int a = axes() - 1; a >= 0; --a)
    if (set.has(static_cast<AxisId>(a)) && axes_[static_cast<std::size_t>(a)].size > 1)
      list.push_back(static_cast<AxisId>(a));
  return list;
}

AxisList Mesh::expert_axes() const {
  AxisList list;
  for (int a = axes() - 1; a >= 0; --a)
    if (axis(static_cast<AxisId>(a)).spreads_experts && axis(static_cast<AxisId>(a)).size > 1)
      list.push_back(static_cast<AxisId>(a));
  return list;
}

AxisSet Mesh::all() const {
  AxisSet set;
  for (int a = 0; a < axes(); ++a)
    if (axes_[static_cast<std::size_t>(a)].size > 1) set = set | AxisSet::of(static_cast<AxisId>(a));
  return set;
}

int Mesh::size_of(AxisSet set) const {
  int product = 1;
  for (int a = 0; a < axes(); ++a)
    if (set.has(static_cast<AxisId>(a))) product *= axes_[static_cast<std::size_t>(a)].size;
  return product;
}

std::vector<int> Mesh::group(int rank, AxisSet set) const {
  std::vector<int> members{rank};
  for (AxisId a = 0; a < axes(); ++a) {
    if (!set.has(a)) continue;
    const int stride = strides_[static_cast<std::size_t>(a)], own = coordinate(rank, a);
    std::vector<int> all;  // ascending: slower axes come later
    for (int there = 0; there < axis(a).size; ++there)
      for (const int member : members) all.push_back(member + (there - own) * stride);
    members = std::move(all);
  }
  return members;
}

std::vector<int> Mesh::group(int rank, const AxisGroup& group) const {
  std::vector<int> members = this->group(rank, group.axes);
  std::erase_if(members, [&](int member) { return !group.home.has(stage_of(member)); });
  return members;
}

std::string Mesh::describe() const {
  std::string text;
  for (const Axis& axis : axes_) text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis.name, axis.size);
  return text;
}

std::string Mesh::describe(AxisSet set) const {
  std::string text;
  for (int a = 0; a < axes(); ++a)
    if (set.has(static_cast<AxisId>(a))) text += (text.empty() ? "" : ".") + axes_[static_cast<std::size_t>(a)].name;
  return text.empty() ? "none" : text;
}

std::string Mesh::describe(const AxisGroup& group) const {
  std::string text = describe(group.axes);
  if (group.home.everywhere()) return text;
  const char* separator = " on stages ";
  for (int stage = 0; stage < stages(); ++stage)
    if (group.home.has(stage)) {
      text += fmt::format("{}{}", separator, stage);
      separator = " and ";
    }
  return text;
}

}  // namespace tessera
