// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/device/device.hpp"

namespace tessera {

const KernelEntry* Device::find(std::string_view op, DType dtype, std::string_view variant) const {
  for (const KernelEntry& entry : kernels())
    if (entry.dtype == dtype && entry.op == op && entry.variant == variant) return &entry;
  return nullptr;
}

}  // namespace tessera
