// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the way from memory into the files of a checkpoint, which exist already with all their space.
// Used: the checkpoint writer.
// Must not know: when a checkpoint counts, what the tensors are for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/comm/communicator.hpp"
#include "io/checkpoint/tensor.hpp"

namespace tessera::io {

enum class Transport : std::uint8_t {
  direct,       ///< each rank writes bytes at the datasets' offsets; needs no MPI
  independent,  ///< parallel HDF5 over MPI-IO, each rank for itself
  collective,   ///< parallel HDF5 over MPI-IO, all ranks together: `write` becomes a collective call
};

std::string_view name_of(Transport transport);

/// Where a tensor goes.
struct Target {
  int file = 0;  ///< number of the file, in the order of open()
  LogicalTensor tensor;
  std::int64_t offset = -1;  ///< of its first byte
};

/// The open files of one save, seen from one rank.
class PieceTransport {
 public:
  virtual ~PieceTransport() = default;

  /// Opens the next file. May be collective.
  virtual void open(const std::filesystem::path& path) = 0;

  /// Writes boxes; `targets[piece.tensor]` says where. Throws Error{io}.
  virtual void write(std::span<const Piece> pieces, std::span<const Target> targets) = 0;

  /// Brings everything this rank wrote to the disk and closes the files. Throws Error{io}.
  virtual void finish() = 0;
};

/// Throws Error{unavailable} when `transport` needs what this build or these ranks do not have.
std::unique_ptr<PieceTransport> make_transport(Transport transport, Communicator& ranks);

}  // namespace tessera::io
