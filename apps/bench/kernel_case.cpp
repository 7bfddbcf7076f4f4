// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/kernel_case.hpp"

#include <algorithm>
#include <cstring>

#include "core/host/dispatch.hpp"

namespace tessera::apps {

KernelCase::KernelCase(HostDevice& device, std::vector<const KernelEntry*> variants, std::span<const Type> in,
                       std::span<const Type> out, const Attributes& attributes, std::uint32_t accumulate)
    : device_(device), variants_(std::move(variants)), attributes_(attributes), accumulate_(accumulate) {
  for (const Type& type : in) in_.push_back(operand(type));
  for (const Type& type : out) out_.push_back(operand(type));
  std::int64_t bytes = 0;
  for (const KernelEntry* entry : variants_)
    if (entry->workspace != nullptr)
      bytes = std::max(bytes, entry->workspace(in_, out_, attributes_, device.threads()));
  workspace_ = {static_cast<std::byte*>(memory(bytes)), static_cast<std::size_t>(bytes)};
}

void KernelCase::run(std::size_t variant) const {
  variants_[variant]->launch({.in = in_,
                              .out = out_,
                              .attributes = attributes_,
                              .workspace = workspace_,
                              .step = step_,
                              .stream = device_.stream(StreamRole::compute),
                              .accumulate = accumulate_});
}

void* KernelCase::memory(std::int64_t bytes) {
  memory_.emplace_back(device_.allocate(std::max<std::int64_t>(bytes, 1), Reach::rank), Release{&device_});
  return memory_.back().get();
}

Tensor KernelCase::operand(const Type& type) {
  if (type.dtype == DType::u8) return {nullptr, type.shape, {}, type.dtype};
  const std::int64_t count = type.shape.count(), bytes = count * size_of(type.dtype);
  void* const data = memory(bytes);
  if (is_floating(type.dtype))
    host::with_floating(type.dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < count; ++i)
        static_cast<T*>(data)[i] = static_cast<T>(0.01F * static_cast<float>(i * 2654435761 % 201 - 100));
    });
  else
    std::memset(data, 0, static_cast<std::size_t>(bytes));
  return {data, type.shape, {}, type.dtype};
}

}  // namespace tessera::apps
