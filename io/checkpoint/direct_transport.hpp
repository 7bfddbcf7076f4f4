// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  writing pieces with plain writes at known offsets.
// Used: make_transport.
// Must not know: HDF5, MPI.
#pragma once

#include <cstddef>
#include <vector>

#include "io/checkpoint/transport.hpp"
#include "io/file.hpp"

namespace tessera::io {

/// Large runs go to the file from where they are; small neighbours are gathered first in a buffer of 4 MiB.
class DirectTransport final : public PieceTransport {
 public:
  void open(const std::filesystem::path& path) override;
  void write(std::span<const Piece> pieces, std::span<const Target> targets) override;
  void finish() override;

 private:
  void put(File& file, std::int64_t offset, const std::byte* data, std::int64_t bytes);
  void flush(File& file);

  std::vector<File> files_;
  std::vector<std::byte> staged_;
  std::int64_t staged_offset_ = 0;
};

}  // namespace tessera::io
