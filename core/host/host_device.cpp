// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/host_device.hpp"

#include <fmt/core.h>

#include <cstring>

#include "core/base/error.hpp"
#include "core/host/kernels.hpp"
#include "core/host/parallel.hpp"
#include "core/host/processor.hpp"

namespace tessera {

HostDevice::HostDevice(int threads, HostMemory* memory) : threads_(threads), memory_(memory) {
  TESSERA_CHECK(threads > 0, fmt::format("threads {}", threads));
  host::check_processor();
  for (std::size_t role = 0; role < streams_.size(); ++role)
    streams_[role] = std::make_unique<HostStream>(static_cast<StreamRole>(role), threads);
}

std::span<const KernelEntry> HostDevice::kernels() const {
  return host::kernels();
}

void* HostDevice::allocate(std::int64_t bytes, Reach reach) {
  TESSERA_CHECK(bytes >= 0, fmt::format("{} bytes", bytes));
  return reach == Reach::node && memory_ != nullptr ? memory_->allocate(bytes) : pages_.allocate(bytes);
}

void HostDevice::release(void* memory) noexcept {
  if (!pages_.release(memory)) memory_->release(memory);
}

void HostDevice::clear(void* memory, std::int64_t bytes) {
  host::parallel_ranges(threads_, bytes, 1, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<std::byte*>(memory) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

int threads_of(const Stream& stream) {
  const auto* host_stream = dynamic_cast<const HostStream*>(&stream);
  TESSERA_CHECK(host_stream != nullptr, "a kernel of the host on a stream of another device");
  return host_stream->threads();
}

}  // namespace tessera
