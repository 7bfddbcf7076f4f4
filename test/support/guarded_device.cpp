// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/guarded_device.hpp"

#include <algorithm>
#include <span>

namespace tessera::test {

void* GuardedDevice::allocate(std::int64_t bytes, Reach reach) {
  const std::int64_t all = bytes + 2 * k_guard_bytes;
  auto* const begin = static_cast<std::byte*>(host_.allocate(all, reach));
  std::fill_n(begin, all, k_untouched);
  blocks_[begin + k_guard_bytes] = bytes;
  return begin + k_guard_bytes;
}

void GuardedDevice::release(void* memory) noexcept {
  auto* const begin = static_cast<std::byte*>(memory);
  blocks_.erase(begin);
  host_.release(begin - k_guard_bytes);
}

std::int64_t GuardedDevice::damaged() const {
  std::int64_t count = 0;
  for (const auto& [begin, bytes] : blocks_)
    for (const std::byte* guard : {begin - k_guard_bytes, begin + bytes})
      count += k_guard_bytes - std::count(guard, guard + k_guard_bytes, k_untouched);
  return count;
}

}  // namespace tessera::test
