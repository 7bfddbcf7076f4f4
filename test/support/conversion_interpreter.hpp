// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  an oracle of conversions: applies steps to the parts of all ranks at once, in plain loops on doubles.
// Used: tests of the planner and of the executors.
// Must not know: communicators, plans.
#pragma once

#include <vector>

#include "core/mesh/conversion.hpp"

namespace tessera::testing_support {

/// One rank's part of a value.
struct Part {
  Shape shape;
  std::vector<double> data;
  friend bool operator==(const Part&, const Part&) = default;
};

/// parts[rank]
using Parts = std::vector<Part>;

/// The part of `whole` that the box [start, start + extent) covers.
Part cut(const Part& whole, const std::array<std::int64_t, Shape::k_max_rank>& start, const Shape& extent);

/// Each rank's part of a whole value under a layout that is not partial.
Parts scatter(const Mesh& mesh, const Layout& layout, const Part& whole);

/// The logical value: parts placed, partial ones summed (or the maximum taken). `replicas_equal` becomes false when
/// ranks that should hold the same bits do not.
Part assemble(const Mesh& mesh, const Layout& layout, const Shape& global, const Parts& parts, bool& replicas_equal);

/// What every rank holds after a step that starts from `from` and leads to `conversion.after`.
Parts apply(const Mesh& mesh, const Layout& from, const Conversion& conversion, const Shape& global,
            const Parts& parts);

}  // namespace tessera::testing_support
