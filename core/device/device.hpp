// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a place where values live and kernels run.
// Used: the planner (which kernels are there), the executor (memory and streams).
// Must not know: the graph, what kernels compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/device/kernel.hpp"

namespace tessera {

/// Who reads memory: its rank alone, or the other ranks of its node besides, in calls.
enum class Reach : std::uint8_t { rank, node };

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string_view name() const = 0;

  /// Threads that one kernel of this rank may use.
  virtual int threads() const = 0;

  virtual std::span<const KernelEntry> kernels() const = 0;

  virtual Stream& stream(StreamRole role) = 0;

  /// Memory, 64-byte aligned, uninitialised. Calls work on any; reach::node only spares them copies. Throws
  /// Error{resources}.
  virtual void* allocate(std::int64_t bytes, Reach reach) = 0;
  virtual void release(void* memory) noexcept = 0;

  /// Zeros on all threads, each of which so gets its share of the pages.
  virtual void clear(void* memory, std::int64_t bytes) = 0;

  /// The kernel of an op for a dtype, the usual one or a variant, or null.
  const KernelEntry* find(std::string_view op, DType dtype, std::string_view variant = {}) const;

 protected:
  Device() = default;
};

}  // namespace tessera
