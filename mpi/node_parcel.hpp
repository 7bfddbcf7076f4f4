// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  data that a rank hands to another rank of its node: small ones themselves, others by their place.
// Used: calls and messages between ranks that share memory; lies in that memory.
// Must not know: when it is opened.
#pragma once

#include <array>
#include <cstdint>

#include "core/comm/communicator.hpp"
#include "mpi/node_memory.hpp"

namespace tessera::mpi {

class NodeParcel {
 public:
  enum class Place : std::uint8_t {
    inside,    ///< in the parcel: the owner may change its own data at once
    shared,    ///< in the owner's shared memory
    elsewhere  ///< where others cannot read
  };

  /// What fits inside is a copy; more would be slower than reading in place.
  static constexpr std::int64_t k_inside_bytes = 1024;

  /// Data that are null are not shown; their count is.
  void put(const NodeMemory& memory, ConstView view);

  Place place() const { return place_; }

  /// The data of rank `local_rank`, here; null when they lie elsewhere.
  ConstView view(const NodeMemory& memory, int local_rank) const;

 private:
  std::uint64_t offset_;
  std::int64_t count_;
  DType dtype_;
  Place place_;
  alignas(64) std::array<std::byte, k_inside_bytes> inside_;
};

}  // namespace tessera::mpi
