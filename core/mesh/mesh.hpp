// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the grid of ranks: named axes, their sizes, and who stands where.
// Used: layouts, passes, the makers of communicators.
// Must not know: values, communicators, what an axis is used for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace tessera {

/// Index of an axis in its mesh, fastest first.
using AxisId = std::int8_t;

inline constexpr int k_max_axes = 12;

/// A set of axes, without order. It has one communicator.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr explicit AxisSet(std::uint16_t bits) : bits_(bits) {}
  static constexpr AxisSet of(AxisId axis) { return AxisSet(static_cast<std::uint16_t>(1U << axis)); }

  constexpr bool has(AxisId axis) const { return (bits_ >> axis & 1U) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr std::uint16_t bits() const { return bits_; }

  friend constexpr AxisSet operator|(AxisSet a, AxisSet b) {
    return AxisSet(static_cast<std::uint16_t>(a.bits_ | b.bits_));
  }
  friend constexpr AxisSet operator&(AxisSet a, AxisSet b) {
    return AxisSet(static_cast<std::uint16_t>(a.bits_ & b.bits_));
  }
  friend constexpr AxisSet operator-(AxisSet a, AxisSet b) {
    return AxisSet(static_cast<std::uint16_t>(a.bits_ & ~b.bits_));
  }
  friend constexpr bool operator==(AxisSet, AxisSet) = default;
  friend constexpr auto operator<=>(AxisSet, AxisSet) = default;

 private:
  std::uint16_t bits_ = 0;
};

/// Axes that split one dim, outer first.
class AxisList {
 public:
  constexpr AxisList() = default;
  constexpr AxisList(std::initializer_list<AxisId> axes) {
    for (AxisId axis : axes) push_back(axis);
  }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr AxisId operator[](int i) const { return axes_[static_cast<std::size_t>(i)]; }
  constexpr AxisId back() const { return (*this)[size_ - 1]; }
  constexpr const AxisId* begin() const { return axes_.data(); }
  constexpr const AxisId* end() const { return axes_.data() + size_; }

  constexpr void push_back(AxisId axis) {
    if (size_ == k_max_axes)
      check_failed("size < k_max_axes", "too many axes on one dim", std::source_location::current());
    axes_[static_cast<std::size_t>(size_++)] = axis;
  }
  constexpr void pop_back() { axes_[static_cast<std::size_t>(--size_)] = 0; }
  constexpr void push_front(AxisId axis) {
    push_back(axis);
    for (int i = size_ - 1; i > 0; --i)
      std::swap(axes_[static_cast<std::size_t>(i)], axes_[static_cast<std::size_t>(i - 1)]);
  }

  constexpr void append(const AxisList& axes) {
    for (AxisId axis : axes) push_back(axis);
  }
  /// Takes out those of `axes` that are there; the others keep their order.
  constexpr void remove(const AxisList& axes) {
    AxisList kept;
    for (AxisId axis : *this)
      if (!axes.has(axis)) kept.push_back(axis);
    *this = kept;
  }

  constexpr bool has(AxisId axis) const {
    for (AxisId a : *this)
      if (a == axis) return true;
    return false;
  }
  constexpr AxisSet set() const {
    AxisSet set;
    for (AxisId a : *this) set = set | AxisSet::of(a);
    return set;
  }

  friend constexpr bool operator==(const AxisList&, const AxisList&) = default;

 private:
  std::array<AxisId, k_max_axes> axes_{};
  std::int8_t size_ = 0;
};

/// The stages of a pipeline (coordinates on the axis "pp") that hold a value. By default all of them.
class Home {
 public:
  static constexpr int k_max_stages = 64;

  constexpr Home() = default;
  static constexpr Home of(int stage) {
    if (stage < 0 || stage >= k_max_stages)
      check_failed("stage < k_max_stages", "too many stages", std::source_location::current());
    return Home(std::uint64_t{1} << stage);
  }

  static constexpr Home of_bits(std::uint64_t stages) { return Home(stages); }

  constexpr bool everywhere() const { return stages_ == 0; }
  constexpr bool has(int stage) const { return everywhere() || (stages_ >> stage & 1U) != 0; }
  constexpr bool is_shared() const { return (stages_ & (stages_ - 1)) != 0; }
  constexpr std::uint64_t bits() const { return stages_; }

  friend constexpr Home operator|(Home a, Home b) { return Home(a.stages_ | b.stages_); }
  friend constexpr bool operator==(Home, Home) = default;
  friend constexpr auto operator<=>(Home, Home) = default;

 private:
  constexpr explicit Home(std::uint64_t stages) : stages_(stages) {}
  std::uint64_t stages_ = 0;
};

/// Ranks that communicate: those that differ in `axes` only; where the axes have "pp" among them, those of the home.
struct AxisGroup {
  AxisSet axes;
  Home home;
  friend constexpr bool operator==(const AxisGroup&, const AxisGroup&) = default;
  friend constexpr auto operator<=>(const AxisGroup&, const AxisGroup&) = default;
};

/// One axis. `stem` is the axis it is a factor of ("tp" for "tp.head"); an unfactored axis is its own stem.
struct Axis {
  std::string name;
  std::string stem;
  int size = 1;
  bool spreads_experts = false;  ///< its ranks hold different experts
};

/// The axes, fastest first, and the coordinates of ranks 0 … size() - 1.
class Mesh {
 public:
  /// Axes of size 1 are kept: they cost nothing and plans read the same for every size.
  explicit Mesh(std::vector<Axis> axes);

  int axes() const { return static_cast<int>(axes_.size()); }
  const Axis& axis(AxisId axis) const { return axes_[static_cast<std::size_t>(axis)]; }
  int size() const { return size_; }

  /// The axis of that name. Throws Error{internal} when there is none.
  AxisId find(std::string_view name) const;

  /// The factors of a stem that have more than one rank, outer first (slower axes are outer). Layouts are made from
  /// these, so an axis of size 1 never appears in one.
  AxisList factors(std::string_view stem) const;

  /// Those of `axes` that have more than one rank, in the same order.
  AxisList outer_first(AxisSet axes) const;

  /// The axes over which experts are spread, outer first.
  AxisList expert_axes() const;

  int coordinate(int rank, AxisId axis) const {
    return rank / strides_[static_cast<std::size_t>(axis)] % axes_[static_cast<std::size_t>(axis)].size;
  }

  /// Every axis that has more than one rank.
  AxisSet all() const;

  /// Number of pipeline stages, and the one in which a rank stands.
  int stages() const;
  int stage_of(int rank) const;

  /// The group of some axes for values of a home: without the home where the axes stay within a stage.
  AxisGroup group_of(AxisSet axes, Home home) const;

  /// Product of the sizes of some axes.
  int size_of(AxisSet axes) const;

  /// The ranks that differ from `rank` in `axes` only, ascending. Position in this list = rank in the communicator of
  /// `axes`.
  std::vector<int> group(int rank, AxisSet axes) const;
  std::vector<int> group(int rank, const AxisGroup& group) const;

  /// "tp=2 cp=1 dp=4 pp=1"
  std::string describe() const;

  /// "tp.dp", fastest first; "none" for the empty set.
  std::string describe(AxisSet axes) const;

  /// "dp.pp", or "dp.pp on stages 0 and 3"
  std::string describe(const AxisGroup& group) const;

 private:
  std::vector<Axis> axes_;
  std::vector<int> strides_;
  int size_ = 1;
  AxisId stage_axis_ = -1;  ///< "pp", when it has more than one rank
};

}  // namespace tessera
