// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/kernel_table.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"

namespace tessera {

void KernelTable::add(std::span<const KernelEntry> entries) {
  for (const KernelEntry& entry : entries)
    if (!entries_.emplace(std::pair(entry.op, entry.dtype), entry).second)
      throw Error(ErrorKind::configuration,
                  fmt::format("two kernels for op '{}' in {}", entry.op, name_of(entry.dtype)),
                  "leave out one of the modules that bring it");
}

const KernelEntry& KernelTable::find(std::string_view op, DType dtype) const {
  const auto found = entries_.find({op, dtype});
  if (found == entries_.end())
    throw Error(ErrorKind::configuration,
                fmt::format("this device has no kernel for op '{}' in {}", op, name_of(dtype)),
                "choose another train.precision, or a module that brings the kernel");
  return found->second;
}

}  // namespace tessera
