// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/box_reader.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tessera::io {
namespace {

constexpr std::int64_t k_window_bytes = 4 << 20;
constexpr std::int64_t k_long_run_bytes = 256 << 10;
constexpr std::int64_t k_most_waste = 8;  // bytes read per byte wanted; beyond it a read per run is cheaper

/// Index in the tensor of the box's last element, plus one.
std::int64_t end_of(const Shape& shape, const Box& box) {
  std::int64_t index = 0;
  for (int dim = 0; dim < shape.rank(); ++dim) index = index * shape[dim] + box.start[dim] + box.extent[dim] - 1;
  return index + 1;
}

std::int64_t begin_of(const Shape& shape, const Box& box) {
  std::int64_t index = 0;
  for (int dim = 0; dim < shape.rank(); ++dim) index = index * shape[dim] + box.start[dim];
  return index;
}

}  // namespace

void read_box(const StoredArray& stored, const Box& box, void* data, const Strides& strides) {
  const std::int64_t wanted = box.extent.count();
  if (wanted == 0) return;
  const std::int64_t element = stored.element_bytes;
  const std::int64_t end = stored.offset + end_of(stored.shape, box) * element;
  const std::int64_t span = end - stored.offset - begin_of(stored.shape, box) * element;
  const bool close_together = span / k_most_waste <= wanted * element;
  std::vector<std::byte> window;
  std::int64_t window_start = 0;
  auto* to = static_cast<std::byte*>(data);
  for_each_run(stored.shape, box, strides, [&](std::int64_t index, std::int64_t place, std::int64_t count) {
    const std::int64_t from = stored.offset + index * element;
    const std::int64_t bytes = count * element;
    if (bytes >= k_long_run_bytes || !close_together) {
      stored.file.read(from, to + place * element, bytes);
      return;
    }
    if (from < window_start || from + bytes > window_start + static_cast<std::int64_t>(window.size())) {
      window_start = from;
      window.resize(static_cast<std::size_t>(std::min(k_window_bytes, end - from)));
      stored.file.read(from, window.data(), static_cast<std::int64_t>(window.size()));
    }
    std::memcpy(to + place * element, window.data() + (from - window_start), static_cast<std::size_t>(bytes));
  });
}

}  // namespace tessera::io
