// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/mesh/conversion.hpp"

#include <optional>

#include <fmt/core.h>

namespace tessera {
namespace {

using Kind = ConversionStep::Kind;

class Planner {
 public:
  Planner(const Mesh& mesh, const Layout& from, const Layout& to) : mesh_(mesh), now_(from), to_(to) {}

  std::vector<Conversion> plan() {
    const Layout from = now_;
    for (int guard = 0; now_ != to_; ++guard) {
      const std::optional<ConversionStep> step = next();
      TESSERA_CHECK(step && guard < 8 * k_max_axes,
                    fmt::format("no conversion from {} to {}", to_string(from, mesh_), to_string(to_, mesh_)));
      apply(*step);
      append(*step);
    }
    return std::move(steps_);
  }

 private:
  /// Whether `axis` is the next one that the target's list of `dim` wants behind what is there.
  bool extends(AxisId axis, int dim) const {
    const AxisList& have = now_.splits(dim);
    const AxisList& want = to_.splits(dim);
    if (have.size() >= want.size() || want[have.size()] != axis) return false;
    for (int i = 0; i < have.size(); ++i)
      if (have[i] != want[i]) return false;
    return true;
  }

  /// The innermost axes of one dim that the target wants next on another, in this order: they move together.
  AxisList movable(int from_dim, int to_dim) const {
    const AxisList& from = now_.splits(from_dim);
    const AxisList& have = now_.splits(to_dim);
    const AxisList& want = to_.splits(to_dim);
    for (int first = 0; first < from.size(); ++first) {
      const int count = from.size() - first;
      if (!extends(from[first], to_dim) || have.size() + count > want.size()) continue;
      AxisList moved;
      for (int i = first; i < from.size() && want[have.size() + i - first] == from[i]; ++i) moved.push_back(from[i]);
      if (moved.size() == count) return moved;
    }
    return {};
  }

  /// Whether something about this axis still differs: where it is, or the order of axes that it stands in.
  bool unfinished(AxisId axis) const {
    const Placement have = now_.of(axis), want = to_.of(axis);
    if (have != want) return true;
    if (!have.is_split()) return false;
    const AxisList& list = now_.splits(have.dim);
    const AxisList& target = to_.splits(have.dim);
    if (list.size() > target.size()) return true;
    for (int i = 0; i < list.size(); ++i)
      if (list[i] != target[i]) return true;
    return false;
  }

  std::optional<ConversionStep> try_kind(Kind kind, AxisId axis) const {
    const Placement have = now_.of(axis), want = to_.of(axis);
    auto make = [&](int from_dim, int to_dim, Merge merge) {
      return ConversionStep{kind, merge, static_cast<std::int8_t>(from_dim), static_cast<std::int8_t>(to_dim), {axis}};
    };
    switch (kind) {
      case Kind::slice:
        if (want.is_split() && have.is_replicated() && extends(axis, want.dim)) return make(-1, want.dim, {});
        break;
      case Kind::reduce_scatter:
        if (want.is_split() && have.is_partial() && extends(axis, want.dim)) return make(-1, want.dim, have.merge);
        break;
      case Kind::all_to_all:
        if (want.is_split() && have.is_split() && have.dim != want.dim && now_.splits(have.dim).back() == axis)
          if (const AxisList moved = movable(have.dim, want.dim); !moved.empty()) {
            ConversionStep step = make(have.dim, want.dim, {});
            step.axes = moved;
            return step;
          }
        break;
      case Kind::all_gather:
        if (have.is_split() && now_.splits(have.dim).back() == axis) return make(have.dim, -1, {});
        break;
      case Kind::all_reduce:
        if (have.is_partial() && have != want) return make(-1, -1, have.merge);
        break;
      case Kind::mask:
        if (have.is_replicated() && want.is_partial()) return make(-1, -1, want.merge);
        break;
    }
    return std::nullopt;
  }

  /// The first step that applies: kinds in order of cost, axes from the slowest.
  std::optional<ConversionStep> next() const {
    for (Kind kind :
         {Kind::slice, Kind::reduce_scatter, Kind::all_to_all, Kind::all_gather, Kind::all_reduce, Kind::mask})
      for (int a = mesh_.axes() - 1; a >= 0; --a)
        if (unfinished(static_cast<AxisId>(a)))
          if (auto step = try_kind(kind, static_cast<AxisId>(a))) return step;
    return std::nullopt;
  }

  void apply(const ConversionStep& step) {
    if (step.from_dim >= 0) now_.splits(step.from_dim).remove(step.axes);
    if (step.kind == Kind::reduce_scatter || step.kind == Kind::all_reduce) now_.clear_partial(step.axes.set());
    if (step.to_dim >= 0) now_.splits(step.to_dim).append(step.axes);
    if (step.kind == Kind::mask) now_.set_partial(step.axes.set(), step.merge);
  }

  /// Adds the step, or joins it with the one before. An all-gather removes inner axes first, so its list grows
  /// outwards.
  void append(const ConversionStep& step) {
    if (!steps_.empty()) {
      ConversionStep& last = steps_.back().step;
      if (last.kind == step.kind && last.kind != Kind::all_to_all && last.from_dim == step.from_dim &&
          last.to_dim == step.to_dim && last.merge == step.merge) {
        if (step.kind == Kind::all_gather)
          last.axes.push_front(step.axes[0]);
        else
          last.axes.push_back(step.axes[0]);
        steps_.back().after = now_;
        return;
      }
    }
    steps_.push_back({step, now_});
  }

  const Mesh& mesh_;
  Layout now_;
  const Layout& to_;
  std::vector<Conversion> steps_;
};

}  // namespace

std::vector<Conversion> plan_conversion(const Mesh& mesh, const Layout& from, const Layout& to) {
  return Planner(mesh, from, to).plan();
}

}  // namespace tessera
