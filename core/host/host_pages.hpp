// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a rank's own memory: large blocks begin on a huge page and ask for such pages, which spares the processor most
//       look-ups of addresses.
// Used: HostDevice.
// Must not know: what lies in the memory.
#pragma once

#include <cstdint>
#include <map>

namespace tessera {

class HostPages {
 public:
  HostPages() = default;
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  /// At least 64-byte aligned. Throws Error{resources}.
  void* allocate(std::int64_t bytes);

  /// Whether the memory came from here, and is now gone.
  bool release(void* memory) noexcept;

 private:
  std::map<void*, std::size_t> blocks_;  ///< bytes by address
};

}  // namespace tessera
