// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  kernels of one op on operands of their own, the same for all its variants.
// Used: benchmarks of kernels.
// Must not know: what is measured, plans.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/graph/op.hpp"
#include "core/host/host_device.hpp"

namespace tessera::apps {

class KernelCase {
 public:
  /// Allocates operands: floating ones hold values that neither overflow nor leave the normal range, whole numbers 0.
  /// An input of dtype u8 is absent. Throws Error{resources}.
  KernelCase(HostDevice& device, std::vector<const KernelEntry*> variants, std::span<const Type> in,
             std::span<const Type> out, const Attributes& attributes, std::uint32_t accumulate);

  Tensor& input(std::size_t i) { return in_[i]; }
  const std::vector<const KernelEntry*>& variants() const { return variants_; }

  void run(std::size_t variant = 0) const;

 private:
  struct Release {
    HostDevice* device;
    void operator()(void* at) const { device->release(at); }
  };

  void* memory(std::int64_t bytes);
  Tensor operand(const Type& type);

  HostDevice& device_;
  std::vector<const KernelEntry*> variants_;
  Attributes attributes_;
  std::uint32_t accumulate_;
  std::vector<Tensor> in_, out_;
  std::vector<std::unique_ptr<void, Release>> memory_;
  std::span<std::byte> workspace_;
  StepInputs step_;
};

}  // namespace tessera::apps
