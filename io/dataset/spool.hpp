// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  bytes of unknown number that wait beside the output until their number is known.
// Used: the dataset writer.
// Must not know: what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/file.hpp"

namespace tessera::io {

/// A temporary file that is appended to, with the checksum of every k_hash_block bytes. It loses its name as soon as it
/// is open, so that a program that is killed leaves nothing.
class Spool {
 public:
  explicit Spool(const std::filesystem::path& path);
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  void append(const void* data, std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }

  /// Closes the last block and gives all checksums.
  const std::vector<std::uint64_t>& finish();

  /// Copies everything to `file` at `offset`. After finish().
  void copy_to(File& file, std::int64_t offset);

 private:
  void flush();

  File file_;
  std::vector<std::byte> block_;
  std::size_t filled_ = 0;
  std::int64_t bytes_ = 0;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace tessera::io
