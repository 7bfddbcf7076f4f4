// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the memory of a rank: one region per tag, sized for the largest of its plans.
// Used: the trainer (owns it), the executor (addresses in it).
// Must not know: what lies where.
#pragma once

#include <array>
#include <span>

#include "core/device/device.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera {

/// The larger of two plans' sizes, tag by tag.
MemoryPlan larger(const MemoryPlan& a, const MemoryPlan& b);

class Arena {
 public:
  /// Allocates every region, zeroed. Throws Error{resources}.
  Arena(Device& device, const MemoryPlan& sizes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* at(Address address) const {
    return address ? regions_[static_cast<std::size_t>(address.tag)] + address.offset : nullptr;
  }

  /// All bytes of a region.
  std::span<std::byte> region(Tag tag) const;

 private:
  Device& device_;
  MemoryPlan sizes_;
  std::array<std::byte*, k_tags> regions_{};
};

}  // namespace tessera
