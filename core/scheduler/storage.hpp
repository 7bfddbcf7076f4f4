// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the memory pass: which buffer each value lies in, how long buffers live, and where they are put.
// Used: the lowering of nodes to instructions.
// Must not know: ops, communicators, what a position is (an instruction's index).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/scheduler/plan.hpp"

namespace tessera {

/// A place inside a buffer.
struct Place {
  std::int32_t buffer = -1;
  std::int64_t offset = 0;
  explicit operator bool() const { return buffer >= 0; }
};

/// Buffers with lives. Those of `scratch` and `communication` are packed per program: two share memory only when their
/// lives do not overlap. Those of other tags are laid one behind the other and never reused; those of a group of copies
/// lie relative to a copy.
class Storage {
 public:
  /// A buffer that is written first at `position`.
  std::int32_t add(Tag tag, std::int64_t bytes, std::int32_t position);
  /// A buffer of a chunk in every copy of a group; those of different chunks overlap.
  std::int32_t add_copy(std::int16_t group, int chunk, std::int64_t bytes);
  /// A buffer at a given address, that is always alive.
  std::int32_t add_fixed(Address address, std::int64_t bytes);

  void use(std::int32_t buffer, std::int32_t position);
  std::int32_t first_use(std::int32_t buffer) const { return buffers_[static_cast<std::size_t>(buffer)].first; }
  std::int64_t bytes(std::int32_t buffer) const { return buffers_[static_cast<std::size_t>(buffer)].bytes; }
  Tag tag(std::int32_t buffer) const { return buffers_[static_cast<std::size_t>(buffer)].at.tag; }

  /// Lays out one behind the other: for values that persist. Returns the address.
  Address reserve(Tag tag, std::int64_t bytes);

  std::int16_t add_group(const CopyGroup& group);
  /// Lays out the groups, when all their buffers are known.
  void lay_out_groups();
  const std::vector<CopyGroup>& groups() const { return groups_; }

  /// Packs the scratch and communication buffers that were added since the last call: a program is complete.
  void pack_program();

  Address address(Place place) const;
  const MemoryPlan& memory() const { return memory_; }
  MemoryPlan& memory() { return memory_; }
  const std::vector<Release>& releases() const { return releases_; }

 private:
  struct Buffer {
    Address at;
    std::int64_t bytes = 0;
    std::int32_t first = 0, last = 0;
  };

  void pack(std::vector<std::int32_t> buffers, Tag tag);

  std::vector<Buffer> buffers_;
  std::vector<std::int32_t> unpacked_;
  std::map<Tag, std::int64_t> base_;  ///< where packed buffers of a tag begin: behind what was reserved
  std::vector<CopyGroup> groups_;
  std::map<std::pair<std::int16_t, int>, std::int64_t> chunk_bytes_;  ///< of a group's copy that a chunk uses
  MemoryPlan memory_;
  std::vector<Release> releases_;
};

}  // namespace tessera
