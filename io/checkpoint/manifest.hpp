// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the record that makes a folder a checkpoint: which files, which bytes, which tensors.
// Used: writer and reader of checkpoints, `tessera inspect`.
// Must not know: how the files were written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint/digest.hpp"
#include "io/checkpoint/segments.hpp"
#include "io/checkpoint/tensor.hpp"

namespace tessera::io {

inline constexpr const char* k_manifest_file = "manifest.json";
inline constexpr const char* k_state_file = "state.json";

struct ManifestFile {
  std::string name;  ///< inside the folder
  std::int64_t bytes = 0;
  std::vector<std::uint64_t> blocks;  ///< checksum of every k_hash_block bytes
};

struct ManifestTensor {
  std::string file;  ///< that shows the whole tensor
  LogicalTensor tensor;
  std::vector<Segment> segments;  ///< where its rows are, in order
  Digest digest;
};

struct Manifest {
  std::int64_t step = 0;
  std::string program;  ///< version that wrote it
  std::vector<ManifestFile> files;
  std::vector<ManifestTensor> tensors;

  const ManifestTensor* find(std::string_view path) const;
};

/// JSON that ends with a checksum of all that stands before it.
std::string serialize(const Manifest& manifest);

/// The inverse. Throws Error{data} that names `path` when the checksum differs, a field is missing or makes no sense.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& path);

}  // namespace tessera::io
