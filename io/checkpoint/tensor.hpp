// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a checkpoint holds: logical tensors, and boxes of them in somebody's memory.
// Used: writer, reader and digests of checkpoints, and whoever calls them.
// Must not know: files, layouts, ranks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/base/shape.hpp"

namespace tessera::io {

/// A tensor as the model knows it, whole and without padding: "/model/layers/attention.q", [layers, out, in].
struct LogicalTensor {
  std::string path;
  Shape shape;
  DType dtype = DType::f32;
  std::vector<std::string> stack;  ///< names along dim 0 where like tensors are stacked ("layers.0", ...), else empty

  std::int64_t bytes() const { return shape.count() * size_of(dtype); }
};

/// A range of every dim of a tensor: [start, start + extent).
struct Box {
  Shape start;
  Shape extent;
};

/// The box that is all of a tensor.
Box whole(const Shape& shape);

/// One entry of a stack: the box `inner` of entry `index`, as a box of the stacked tensor.
Box stacked(std::int64_t index, const Box& inner);

/// Distances between neighbours in memory, in elements, for each dim. Fast when the last one is 1.
using Strides = std::array<std::int64_t, Shape::k_max_rank>;

/// Strides of a box that lies in memory without gaps.
Strides dense_strides(const Shape& extent);

/// "[0:4, 128:256]"
std::string to_string(const Box& box);

/// True when the box has the rank of `shape` and lies inside it.
bool fits(const Box& box, const Shape& shape);

/// A box of a tensor in somebody's memory.
struct Piece {
  int tensor = 0;  ///< number of the tensor, as declared
  Box box;
  const void* data = nullptr;
  Strides strides{};
};

/// Calls `run(index, offset, count)` for consecutive elements that are neighbours both in the tensor and in memory,
/// in row-major order: `index` counts in the tensor, `offset` in memory, both in elements. Runs are as long as can be.
template <class Run>
void for_each_run(const Shape& shape, const Box& box, const Strides& strides, Run&& run) {
  const int rank = shape.rank();
  if (box.extent.count() == 0) return;
  // Dims from `inner` on are one run: whole in the tensor (but for the outermost of them) and dense in memory.
  int inner = rank;
  std::int64_t length = 1;
  while (inner > 0 && strides[static_cast<std::size_t>(inner - 1)] == length &&
         (inner == rank || box.extent[inner] == shape[inner])) {
    --inner;
    length *= box.extent[inner];
  }
  std::array<std::int64_t, Shape::k_max_rank> at{};
  for (;;) {
    std::int64_t index = 0;
    std::int64_t offset = 0;
    for (int dim = 0; dim < rank; ++dim) {
      const std::int64_t place = dim < inner ? at[static_cast<std::size_t>(dim)] : 0;
      index = index * shape[dim] + box.start[dim] + place;
      offset += place * strides[static_cast<std::size_t>(dim)];
    }
    run(index, offset, length);
    int dim = inner - 1;
    while (dim >= 0 && ++at[static_cast<std::size_t>(dim)] == box.extent[dim]) at[static_cast<std::size_t>(dim--)] = 0;
    if (dim < 0) return;
  }
}

}  // namespace tessera::io
