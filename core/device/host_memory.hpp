// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where a host device takes its memory from, when not from the process alone.
// Used: HostDevice; implemented where several processes share memory.
// Must not know: who reads the memory.
#pragma once

#include <cstdint>

namespace tessera {

class HostMemory {
 public:
  virtual ~HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// 64-byte aligned. Throws Error{resources}.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;

 protected:
  HostMemory() = default;
};

}  // namespace tessera
