// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  HDF5 files whose datasets are plain extents of the file: HDF5 writes and reads the description, everybody may
//       then read and write the bytes at the offsets.
// Used: datasets of tokens, checkpoints.
// Must not know: what the numbers are for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/dtype.hpp"
#include "io/hdf5/handle.hpp"

namespace tessera::io::hdf5 {

/// Types of elements in files, little-endian. bf16 and f16 are described bit by bit, so every HDF5 reader can convert
/// them.
enum class Element : std::uint8_t { f64, f32, bf16, f16, i64, i32, u16, u8, u32, u64 };

constexpr Element element_of(DType dtype) {
  return static_cast<Element>(dtype);
}
std::int64_t size_of(Element element);
std::string_view name_of(Element element);

struct Attribute {
  std::string name;
  std::variant<std::int64_t, std::string, std::vector<std::string>> value;
};

/// A dataset: where it is in the file and what its elements are. Row-major; no extents means a scalar.
struct Extent {
  std::string path;  ///< "/model/layers/attention.q"; groups on the way are made
  Element element = Element::f32;
  std::vector<std::int64_t> extents;
  std::vector<Attribute> attributes;
  std::int64_t offset = -1;  ///< of the first byte in the file; -1 when there are no elements

  std::int64_t count() const;
  std::int64_t bytes() const { return count() * size_of(element); }
};

struct FileLayout {
  std::vector<Extent> datasets;
  std::vector<Attribute> attributes;  ///< of the root group
  std::int64_t file_bytes = 0;

  const Extent* find(std::string_view path) const;
  const Attribute* attribute(std::string_view name) const;
};

/// Makes a file with these datasets in the 1.10 format (its metadata has checksums): space allocated at once, not
/// filled, extents of 64 KiB and more aligned to 1 MiB. The file is flushed and closed on return. Fills in the offsets
/// and the size. Throws Error{io}.
void create_file(const std::filesystem::path& path, FileLayout& layout);

/// Reads the description of a file. Datasets that are chunked, compressed, compact, stored elsewhere or of other types
/// are left out and named in `left_out`. Throws Error{data} for what is not a sound HDF5 file, Error{not_found}.
FileLayout describe_file(const std::filesystem::path& path, std::vector<std::string>* left_out = nullptr);

}  // namespace tessera::io::hdf5
