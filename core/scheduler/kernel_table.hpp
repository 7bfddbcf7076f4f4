// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  all kernels that a plan may use: the device's and those that modules brought, and which of several for the same
//       op is taken.
// Used: the planner.
// Must not know: what kernels compute.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/device/kernel.hpp"
#include "core/scheduler/kernel_choices.hpp"

namespace tessera {

/// Kernels that a module brings for a device: enrolled as a factory of this type.
struct KernelSet {
  std::string_view device;  ///< "host"
  std::span<const KernelEntry> entries;
};

class KernelTable {
 public:
  /// Throws Error{configuration} when a kernel for (op, dtype, variant) is already there.
  void add(std::span<const KernelEntry> entries);

  /// From now on these choices hold. Throws Error{configuration} when one names a variant that is not there.
  void choose(KernelChoices choices);

  /// The usual kernel. Throws Error{configuration} when there is none.
  const KernelEntry& find(std::string_view op, DType dtype) const { return find_variant(op, dtype, {}); }

  /// The kernel for these inputs on so many threads: the chosen variant, or the usual one. Throws Error{configuration}
  /// when there is none.
  const KernelEntry& find(std::string_view op, DType dtype, int threads, std::span<const Tensor> in) const;

  /// The usual kernel and, behind it, its variants.
  std::vector<const KernelEntry*> variants(std::string_view op, DType dtype) const;

 private:
  const KernelEntry& find_variant(std::string_view op, DType dtype, std::string_view variant) const;

  using Key = std::tuple<std::string_view, DType, std::string_view>;  ///< op, dtype, variant

  std::map<Key, KernelEntry> entries_;
  KernelChoices choices_;
};

}  // namespace tessera
