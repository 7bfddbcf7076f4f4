// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  rule 2: the steps that turn one layout into another. A pure function of two layouts: no buffers, no ranks.
// Used: the placer (inserts them), the planner (lowers them to collectives), tests that count them.
// Must not know: ops, communicators.
#pragma once

#include <string_view>
#include <vector>

#include "core/mesh/layout.hpp"

namespace tessera {

/// One step over one or several axes.
struct ConversionStep {
  enum class Kind : std::uint8_t {
    slice,           ///< keep this rank's part of `to_dim`; free
    reduce_scatter,  ///< partial becomes split on `to_dim`
    all_to_all,      ///< split moves from `from_dim` to `to_dim`
    all_gather,      ///< split on `from_dim` becomes replicated
    all_reduce,      ///< partial becomes replicated
    mask,            ///< replicated becomes partial: coordinate 0 keeps the value, the others hold zero; free
  };
  Kind kind = Kind::slice;
  Merge merge = Merge::sum;  ///< of reduce_scatter, all_reduce, mask
  std::int8_t from_dim = -1;
  std::int8_t to_dim = -1;
  AxisList axes;  ///< outer first
};

constexpr std::string_view name_of(ConversionStep::Kind kind) {
  constexpr std::string_view names[] = {"slice", "reduce_scatter", "all_to_all", "all_gather", "all_reduce", "mask"};
  return names[static_cast<int>(kind)];
}

constexpr bool communicates(ConversionStep::Kind kind) {
  return kind != ConversionStep::Kind::slice && kind != ConversionStep::Kind::mask;
}

/// A step and the layout that it leads to.
struct Conversion {
  ConversionStep step;
  Layout after;
};

/// The steps from `from` to `to`; none when they are equal. Only the innermost axes of a dim can be added or removed by
/// a step; the order of preference is slice, reduce_scatter, all_to_all, all_gather, all_reduce, mask. Neighbouring
/// steps of one kind on one dim are one step over several axes.
std::vector<Conversion> plan_conversion(const Mesh& mesh, const Layout& from, const Layout& to);

}  // namespace tessera
