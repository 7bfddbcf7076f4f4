// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a host device that puts a known pattern in front of and behind all that it allocates.
// Used: tests of memory.
// Must not know: what memory is for.
#pragma once

#include <map>

#include "core/host/host_device.hpp"

namespace tessera::test {

/// The byte of guards, and of memory that a test marks as untouched.
inline constexpr std::byte k_untouched{0xa5};

class GuardedDevice final : public Device {
 public:
  static constexpr std::int64_t k_guard_bytes = 1 << 16;

  explicit GuardedDevice(int threads) : host_(threads) {}

  std::string_view name() const override { return host_.name(); }
  int threads() const override { return host_.threads(); }
  std::span<const KernelEntry> kernels() const override { return host_.kernels(); }
  Stream& stream(StreamRole role) override { return host_.stream(role); }
  void* allocate(std::int64_t bytes, Reach reach) override;
  void release(void* memory) noexcept override;
  void clear(void* memory, std::int64_t bytes) override { host_.clear(memory, bytes); }

  /// How many bytes of guards were written over.
  std::int64_t damaged() const;

 private:
  HostDevice host_;
  std::map<std::byte*, std::int64_t> blocks_;  ///< bytes by address, guards left out
};

}  // namespace tessera::test
