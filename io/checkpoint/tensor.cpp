// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tensor.hpp"

#include <fmt/core.h>

namespace tessera::io {

Box whole(const Shape& shape) {
  Box box{shape, shape};
  for (int dim = 0; dim < shape.rank(); ++dim) box.start[dim] = 0;
  return box;
}

Box stacked(std::int64_t index, const Box& inner) {
  Box box{{index}, {1}};
  for (int dim = 0; dim < inner.start.rank(); ++dim) {
    box.start.append(inner.start[dim]);
    box.extent.append(inner.extent[dim]);
  }
  return box;
}

Strides dense_strides(const Shape& extent) {
  Strides strides{};
  for (int dim = 0; dim < extent.rank(); ++dim) strides[static_cast<std::size_t>(dim)] = extent.count_from(dim + 1);
  return strides;
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (int dim = 0; dim < box.start.rank(); ++dim)
    text += fmt::format("{}{}:{}", dim > 0 ? ", " : "", box.start[dim], box.start[dim] + box.extent[dim]);
  return text + "]";
}

bool fits(const Box& box, const Shape& shape) {
  if (box.start.rank() != shape.rank() || box.extent.rank() != shape.rank()) return false;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const bool inside = box.start[dim] >= 0 && box.extent[dim] >= 0 && box.start[dim] <= shape[dim] - box.extent[dim];
    if (!inside) return false;
  }
  return true;
}

}  // namespace tessera::io
