// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  tensors whose rows (entries of dim 0) are spread over several files.
// Used: writer and reader of checkpoints.
// Must not know: how files are read or written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/tensor.hpp"

namespace tessera::io {

/// Rows [first_row, first_row + rows) of a tensor, as a dataset of their own. A scalar has one row.
struct Segment {
  std::string file;  ///< inside the folder
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t offset = -1;  ///< of the first byte in the file, row-major from there; -1 when there are no elements
};

/// Rows of a tensor of this shape.
std::int64_t rows_of(const Shape& shape);

/// The shape of `rows` of its rows.
Shape with_rows(Shape shape, std::int64_t rows);

/// "model.h5" alone, or "model.000.h5", "model.001.h5", ...
std::vector<std::string> segment_files(const std::string& file, int count);

/// Equal parts, the last one shorter, over at most `files.size()` files; empty parts are left out, except that a tensor
/// without rows has one. Offsets are open.
std::vector<Segment> cut_rows(const Shape& shape, std::span<const std::string> files);

/// Calls `part(segment, box, offset)` for every segment that `box` meets: which one, the part of the box in it
/// (counted from its first row), and where that part begins in memory, in elements.
template <class Part>
void for_each_segment(const Box& box, const Strides& strides, std::span<const Segment> segments, Part&& part) {
  if (box.start.rank() == 0) {
    part(std::size_t{0}, box, std::int64_t{0});
    return;
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::int64_t first = std::max(box.start[0], segments[i].first_row);
    const std::int64_t last = std::min(box.start[0] + box.extent[0], segments[i].first_row + segments[i].rows);
    if (first >= last) continue;
    Box inside = box;
    inside.start[0] = first - segments[i].first_row;
    inside.extent[0] = last - first;
    part(i, inside, (first - box.start[0]) * strides[0]);
  }
}

}  // namespace tessera::io
