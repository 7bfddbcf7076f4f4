// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  all kernels that a plan may use: the device's and those that modules brought.
// Used: the planner.
// Must not know: what kernels compute.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/device/kernel.hpp"

namespace tessera {

/// Kernels that a module brings for a device: enrolled as a factory of this type.
struct KernelSet {
  std::string_view device;  ///< "host"
  std::span<const KernelEntry> entries;
};

class KernelTable {
 public:
  /// Throws Error{configuration} when a kernel for (op, dtype) is already there.
  void add(std::span<const KernelEntry> entries);

  /// Throws Error{configuration} when there is none.
  const KernelEntry& find(std::string_view op, DType dtype) const;

 private:
  std::map<std::pair<std::string_view, DType>, KernelEntry> entries_;
};

}  // namespace tessera
