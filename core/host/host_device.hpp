// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the device that is always there: memory and threads of this process.
// Used: programs and tests (create it), kernels of the host (ask their stream for its threads).
// Must not know: other ranks, the graph.
#pragma once

#include <array>
#include <memory>

#include "core/device/device.hpp"
#include "core/device/host_memory.hpp"
#include "core/host/host_pages.hpp"

namespace tessera {

/// Work runs at once on the calling thread and up to `threads() - 1` helpers.
class HostStream final : public Stream {
 public:
  HostStream(StreamRole role, int threads) : Stream(role), threads_(threads) {}

  int threads() const { return threads_; }
  void synchronize() override {}

 private:
  int threads_;
};

class HostDevice final : public Device {
 public:
  /// A device whose kernels use up to `threads` threads each. One per rank: ranks that are threads of one process each
  /// have their own. What other ranks read comes from `memory`, which outlives the device, or, when null, from the
  /// process like all else: in huge pages where the system gives them. Throws Error{unavailable} on a processor that
  /// lacks instructions of the kernels.
  explicit HostDevice(int threads, HostMemory* memory = nullptr);

  std::string_view name() const override { return "host"; }
  int threads() const override { return threads_; }
  std::span<const KernelEntry> kernels() const override;
  Stream& stream(StreamRole role) override { return *streams_[static_cast<std::size_t>(role)]; }
  void* allocate(std::int64_t bytes, Reach reach) override;
  void release(void* memory) noexcept override;
  void clear(void* memory, std::int64_t bytes) override;

 private:
  int threads_;
  HostMemory* memory_;
  HostPages pages_;
  std::array<std::unique_ptr<HostStream>, 6> streams_;
};

/// Threads that a kernel on this stream may use. Throws Error{internal} if the stream is not the host's.
int threads_of(const Stream& stream);

}  // namespace tessera
