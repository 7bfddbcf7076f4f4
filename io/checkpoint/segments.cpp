// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/segments.hpp"

#include <fmt/core.h>

#include <filesystem>

namespace tessera::io {

std::int64_t rows_of(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[0];
}

Shape with_rows(Shape shape, std::int64_t rows) {
  if (shape.rank() > 0) shape[0] = rows;
  return shape;
}

std::vector<std::string> segment_files(const std::string& file, int count) {
  if (count == 1) return {file};
  const std::filesystem::path path(file);
  std::vector<std::string> files;
  for (int i = 0; i < count; ++i)
    files.push_back(fmt::format("{}.{:03}{}", path.stem().string(), i, path.extension().string()));
  return files;
}

std::vector<Segment> cut_rows(const Shape& shape, std::span<const std::string> files) {
  const std::int64_t rows = rows_of(shape);
  const auto count = static_cast<std::int64_t>(files.size());
  const std::int64_t part = std::max<std::int64_t>((rows + count - 1) / count, 1);
  std::vector<Segment> segments;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * part;
    if (i > 0 && first >= rows) break;
    segments.push_back({files[static_cast<std::size_t>(i)], first, std::min(part, rows - first), -1});
  }
  return segments;
}

}  // namespace tessera::io
