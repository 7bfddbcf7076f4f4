// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/world_verifier.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace tessera {
namespace {

bool is_message(const CallSeries& series) {
  return series.from >= 0;
}

/// The member of `rank`'s group over `axes` that stands there where `other` stands in its own.
int member_like(const Mesh& mesh, AxisSet axes, int rank, int other) {
  int stride = 1;
  for (AxisId axis = 0; axis < mesh.axes(); ++axis) {
    if (axes.has(axis)) rank += (mesh.coordinate(other, axis) - mesh.coordinate(rank, axis)) * stride;
    stride *= mesh.axis(axis).size;
  }
  return rank;
}

/// The first of Mesh::group, without the others: there may be as many as ranks.
int lowest_member(const Mesh& mesh, const AxisGroup& group, int rank) {
  const int lowest = member_like(mesh, group.axes, rank, 0);
  if (group.home.everywhere()) return lowest;
  for (const int member : mesh.group(lowest, AxisSet::of(mesh.find("pp"))))
    if (group.home.has(mesh.stage_of(member))) return member;
  return lowest;
}

/// What one side does at the first call that differs.
std::string side(const std::vector<CallSignature>& calls, std::size_t index, const std::string& series) {
  return index < calls.size() ? describe(calls[index], index, series) : fmt::format("no call {} on {}", index, series);
}

std::string difference(int a, const std::vector<CallSignature>& left, int b, const std::vector<CallSignature>& right,
                       const std::string& series) {
  const auto at = static_cast<std::size_t>(std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first -
                                           left.begin());
  return fmt::format("rank {} makes {}, rank {} makes {}", a, side(left, at, series), b, side(right, at, series));
}

}  // namespace

AxisSet message_axes(const Plan& plan) {
  AxisSet axes;
  for (const Call& call : plan.calls)
    if (!is_collective(call.kind)) axes = axes | call.group.axes;
  return axes;
}

std::vector<int> rank_classes(const Mesh& mesh, std::span<const Graph* const> graphs, AxisSet apart) {
  std::set<std::pair<std::int64_t, std::vector<AxisId>>> cuts;  // an extent and the axes that split it
  for (const Graph* graph : graphs)
    for (const ValueInfo& value : graph->values)
      for (int dim = 0; dim < value.type.shape.rank(); ++dim) {
        const AxisList& axes = value.layout.splits(dim);
        if (!axes.empty()) cuts.insert({value.type.shape[dim], {axes.begin(), axes.end()}});
      }
  std::map<std::vector<std::int64_t>, int> first;
  std::vector<int> classes;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    std::vector<std::int64_t> key;
    for (AxisId axis = 0; axis < mesh.axes(); ++axis)
      if (apart.has(axis)) key.push_back(mesh.coordinate(rank, axis));
    for (const auto& [extent, axes] : cuts) {
      AxisList list;
      for (AxisId axis : axes) list.push_back(axis);
      key.push_back(part_of(mesh, extent, list, rank).size());
    }
    classes.push_back(first.try_emplace(std::move(key), rank).first->second);
  }
  return classes;
}

void WorldVerifier::add(const Plan& plan, std::span<const int> ranks) {
  if (auto inversion = first_inversion(plan, mesh_)) inversions_.push_back(std::move(*inversion));
  lists_.push_back(call_series(plan, mesh_));
  for (int rank : ranks) {
    for (const CallSeries& series : lists_.back()) {
      members_[key_of(series, rank)].push_back({rank, &series});
      calls_ += static_cast<std::int64_t>(series.calls.size());
    }
    ++ranks_;
  }
}

/// The series of `rank` that is to it what `series` is to the rank whose plan has it.
WorldVerifier::Key WorldVerifier::key_of(const CallSeries& series, int rank) const {
  const int lowest = lowest_member(mesh_, series.group, rank);
  if (!is_message(series)) return {series.group, lowest, -1, -1};
  const auto at = [&](int end) { return member_like(mesh_, series.group.axes, rank, end); };
  return {series.group, lowest, at(series.from), at(series.to)};
}

std::size_t WorldVerifier::wanted(const Key& key) const {
  const auto& [group, first, from, to] = key;
  return from >= 0 ? 2 : mesh_.group(first, group).size();
}

std::vector<std::string> WorldVerifier::differences() const {
  std::vector<std::string> found = inversions_;
  for (const auto& [key, members] : members_) {
    const auto& [group, lowest, from, to] = key;
    const std::string name =
        from < 0 ? mesh_.describe(group) : fmt::format("{} from rank {} to rank {}", mesh_.describe(group), from, to);
    const Member& first = members.front();
    std::set<const CallSeries*> compared{first.series};
    for (const Member& member : members)
      if (compared.insert(member.series).second && member.series->calls != first.series->calls)
        found.push_back(difference(first.rank, first.series->calls, member.rank, member.series->calls, name));
    if (members.size() < wanted(key))
      found.push_back(fmt::format("only {} of {} ranks call on {}; rank {} makes {}", members.size(), wanted(key), name,
                                  first.rank, side(first.series->calls, 0, name)));
  }
  return found;
}

}  // namespace tessera
