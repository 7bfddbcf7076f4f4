// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  how one value lies on the mesh (DESIGN section 2): the type that carries the parallelism.
// Used: layout rules of ops, conversions, strategies, files.
// Must not know: ops, buffers, communicators.
#pragma once

#include <array>
#include <compare>
#include <string>

#include "core/base/shape.hpp"
#include "core/mesh/mesh.hpp"

namespace tessera {

/// How the summands of a partial value are merged.
enum class Merge : std::uint8_t { sum, max };

/// What a layout says about one axis.
struct Placement {
  enum class Kind : std::uint8_t { replicated, split, partial };
  Kind kind = Kind::replicated;
  std::int8_t dim = -1;      ///< of a split
  Merge merge = Merge::sum;  ///< of a partial

  static constexpr Placement replicated() { return {}; }
  static constexpr Placement split(int dim) { return {Kind::split, static_cast<std::int8_t>(dim), Merge::sum}; }
  static constexpr Placement partial(Merge merge = Merge::sum) { return {Kind::partial, -1, merge}; }

  constexpr bool is_split() const { return kind == Kind::split; }
  constexpr bool is_partial() const { return kind == Kind::partial; }
  constexpr bool is_replicated() const { return kind == Kind::replicated; }

  friend constexpr bool operator==(Placement, Placement) = default;
};

/// An ordered list of axes per dim (outer first) and the axes over which the value is still partial. Every other axis
/// holds the same bits on all its ranks.
class Layout {
 public:
  constexpr Layout() = default;

  /// Replicated, except for the given splits: Layout({cp, dp, {}}) splits dim 0 by cp and dim 1 by dp.
  Layout(std::initializer_list<AxisList> splits) {
    int dim = 0;
    for (const AxisList& axes : splits) splits_[static_cast<std::size_t>(dim++)] = axes;
  }

  const AxisList& splits(int dim) const { return splits_[static_cast<std::size_t>(dim)]; }
  AxisList& splits(int dim) { return splits_[static_cast<std::size_t>(dim)]; }

  AxisSet partial() const { return sum_ | max_; }
  AxisSet partial(Merge merge) const { return merge == Merge::sum ? sum_ : max_; }
  void set_partial(AxisSet axes, Merge merge);
  void clear_partial(AxisSet axes);

  bool is_partial() const { return !partial().empty(); }

  /// All axes that split some dim.
  AxisSet split_axes() const;

  Placement of(AxisId axis) const;

  /// The layout of this value's gradient: splits stay, partial and replicated become replicated (rule 3).
  Layout dual() const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  std::array<AxisList, Shape::k_max_rank> splits_{};
  AxisSet sum_, max_;
};

/// A rank's part of the global index space: where it starts and how far it goes. Extents may be 0.
struct Slab {
  std::array<std::int64_t, Shape::k_max_rank> start{};
  Shape extent;

  friend bool operator==(const Slab&, const Slab&) = default;
};

/// Consecutive indices [begin, end).
struct Range {
  std::int64_t begin = 0, end = 0;
  constexpr std::int64_t size() const { return end - begin; }
  friend constexpr bool operator==(Range, Range) = default;
};

/// The rank's part of `extent` indices split by `axes`: nested ceil division, outer axis first, so that gathering an
/// inner axis gives exactly the outer axis's part. Parts at the end may be short or empty.
Range part_of(const Mesh& mesh, std::int64_t extent, const AxisList& axes, int rank);

/// Part `index` of `parts` equal parts by ceil division; the last ones may be short or empty.
Range part_of(Range whole, int parts, int index);

/// The rank's part of a value of the given global shape.
Slab slab_of(const Mesh& mesh, const Layout& layout, const Shape& global, int rank);

/// Calls visit(local, global, length) for every run of a part's elements that lie one behind the other in the whole
/// value too: offsets in row-major order of the part and of the value.
template <class Visit>
void for_each_run(const Shape& global, const Slab& slab, Visit visit) {
  const int last = global.rank() - 1;
  const std::int64_t length = slab.extent[last];
  const std::int64_t runs = length == 0 ? 0 : slab.extent.count() / length;
  for (std::int64_t run = 0; run < runs; ++run) {
    std::int64_t offset = slab.start[static_cast<std::size_t>(last)], stride = global[last], rest = run;
    for (int dim = last - 1; dim >= 0; --dim) {
      offset += (slab.start[static_cast<std::size_t>(dim)] + rest % slab.extent[dim]) * stride;
      rest /= slab.extent[dim];
      stride *= global[dim];
    }
    visit(run * length, offset, length);
  }
}

/// "0:cp.tp 1:dp sum(tp)", "replicated"
std::string to_string(const Layout& layout, const Mesh& mesh);

}  // namespace tessera
