// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/arena.hpp"

#include <algorithm>

namespace tessera {

MemoryPlan larger(const MemoryPlan& a, const MemoryPlan& b) {
  MemoryPlan result = a;
  for (std::size_t t = 0; t < result.bytes.size(); ++t) {
    result.bytes[t] = std::max(a.bytes[t], b.bytes[t]);
    result.reach[t] = std::max(a.reach[t], b.reach[t]);
  }
  return result;
}

Arena::Arena(Device& device, const MemoryPlan& sizes) : device_(device), sizes_(sizes) {
  for (std::size_t t = 0; t < regions_.size(); ++t) {
    const std::int64_t bytes = sizes.bytes[t];
    if (bytes == 0) continue;
    regions_[t] = static_cast<std::byte*>(device.allocate(bytes, sizes.reach[t]));
    device.clear(regions_[t], bytes);
  }
}

Arena::~Arena() {
  for (std::byte* region : regions_)
    if (region != nullptr) device_.release(region);
}

std::span<std::byte> Arena::region(Tag tag) const {
  return {regions_[static_cast<std::size_t>(tag)], static_cast<std::size_t>(sizes_[tag])};
}

}  // namespace tessera
