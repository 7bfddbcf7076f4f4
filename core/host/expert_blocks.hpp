// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the live rows of experts as blocks of one matrix each, though those of different parts lie apart.
// Used: products of experts.
// Must not know: what is multiplied.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/device/kernel.hpp"

namespace tessera::host {

/// Rows of one expert that are live, parts behind one another. Tensors of rows are [e, p, c, width], counts [e, p].
class LiveRows {
 public:
  LiveRows(const Tensor& counts, std::int64_t capacity, std::int64_t expert)
      : counts_(counts.as<const std::int32_t>() + expert * counts.shape[1]),
        parts_(counts.shape[1]),
        capacity_(capacity),
        first_(expert * parts_ * capacity) {
    for (std::int64_t part = 0; part < parts_; ++part) count_ += counts_[part];
  }

  std::int64_t count() const { return count_; }

  /// Calls body(row, place, n) for runs of live rows [begin, end): n rows from `place` of the tensor, the first of
  /// which is live row `row`.
  template <class Body>
  void for_runs(std::int64_t begin, std::int64_t end, const Body& body) const {
    std::int64_t row = 0;  // live rows of earlier parts
    for (std::int64_t part = 0; part < parts_ && row < end; row += counts_[part], ++part) {
      const std::int64_t from = std::max(begin, row), to = std::min<std::int64_t>(end, row + counts_[part]);
      if (from < to) body(from, first_ + part * capacity_ + from - row, to - from);
    }
  }

  /// Where live rows [begin, end) lie if they are one run, or -1.
  std::int64_t place_of(std::int64_t begin, std::int64_t end) const {
    std::int64_t place = -1, last = -1;
    for_runs(begin, end, [&](std::int64_t, std::int64_t from, std::int64_t n) {
      if (place < 0) place = from;
      last = from + n;
    });
    return last - place == end - begin ? place : -1;
  }

 private:
  const std::int32_t* counts_;
  std::int64_t parts_, capacity_, first_, count_ = 0;
};

/// `columns` columns of live rows [begin, end) of a tensor of rows of `stride` elements: the memory itself, or a copy
/// in `scratch`.
template <class T>
struct RowBlock {
  const T* data;
  std::int64_t stride;

  RowBlock(const LiveRows& rows, std::int64_t begin, std::int64_t end, const T* tensor, std::int64_t width,
           std::int64_t column, std::int64_t columns, T* scratch)
      : data(scratch), stride(columns) {
    if (const std::int64_t place = rows.place_of(begin, end); place >= 0) {
      data = tensor + place * width + column;
      stride = width;
      return;
    }
    rows.for_runs(begin, end, [&](std::int64_t row, std::int64_t place, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i)
        std::copy_n(tensor + (place + i) * width + column, columns, scratch + (row - begin + i) * columns);
    });
  }
};

}  // namespace tessera::host
