// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/host_device.hpp"

#include <fmt/core.h>

#include <new>

#include "core/base/error.hpp"
#include "core/host/kernels.hpp"

namespace tessera {
namespace {

constexpr std::align_val_t k_alignment{64};

}  // namespace

HostDevice::HostDevice(int threads, HostMemory* memory) : threads_(threads), memory_(memory) {
  TESSERA_CHECK(threads > 0, fmt::format("threads {}", threads));
  for (std::size_t role = 0; role < streams_.size(); ++role)
    streams_[role] = std::make_unique<HostStream>(static_cast<StreamRole>(role), threads);
}

std::span<const KernelEntry> HostDevice::kernels() const {
  return host::kernels();
}

void* HostDevice::allocate(std::int64_t bytes) {
  TESSERA_CHECK(bytes >= 0, fmt::format("{} bytes", bytes));
  if (memory_ != nullptr) return memory_->allocate(bytes);
  void* memory = ::operator new(static_cast<std::size_t>(bytes), k_alignment, std::nothrow);
  if (memory == nullptr)
    throw Error(ErrorKind::resources, fmt::format("the host cannot give {} bytes of memory", bytes),
                "Lower train.micro_batch or train.memory_limit, or start fewer ranks on this node.");
  return memory;
}

void HostDevice::release(void* memory) noexcept {
  memory_ != nullptr ? memory_->release(memory) : ::operator delete(memory, k_alignment);
}

int threads_of(const Stream& stream) {
  const auto* host_stream = dynamic_cast<const HostStream*>(&stream);
  TESSERA_CHECK(host_stream != nullptr, "a kernel of the host on a stream of another device");
  return host_stream->threads();
}

}  // namespace tessera
