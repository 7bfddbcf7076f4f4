// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the extents of a value, row-major, as a small value type.
// Used: graph, kernels, files.
// Must not know: layouts or memory.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/base/error.hpp"

namespace tessera {

/// Up to `k_max_rank` dims, the last one contiguous. A scalar has rank 0 and one element.
class Shape {
 public:
  static constexpr int k_max_rank = 5;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> extents) {
    for (std::int64_t extent : extents) append(extent);
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t& operator[](int dim) { return extents_[static_cast<std::size_t>(dim)]; }
  constexpr std::int64_t operator[](int dim) const { return extents_[static_cast<std::size_t>(dim)]; }
  constexpr const std::int64_t* begin() const { return extents_.data(); }
  constexpr const std::int64_t* end() const { return extents_.data() + rank_; }

  constexpr void append(std::int64_t extent) {
    if (rank_ == k_max_rank)
      check_failed("rank < k_max_rank", "a shape has too many dims", std::source_location::current());
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }

  /// Number of elements.
  constexpr std::int64_t count() const { return count_from(0); }

  /// Product of the extents of dims `first`, `first + 1`, ...
  constexpr std::int64_t count_from(int first) const {
    std::int64_t product = 1;
    for (int dim = first; dim < rank_; ++dim) product *= (*this)[dim];
    return product;
  }

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, k_max_rank> extents_{};
  int rank_ = 0;
};

/// "[4, 256, 768]"
std::string to_string(const Shape& shape);

}  // namespace tessera
