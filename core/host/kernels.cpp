// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/kernels.hpp"

#include <vector>

namespace tessera::host {
namespace {

constexpr auto k_tables = std::to_array({
    add_kernels,
    add_bias_kernels,
    gelu_kernels,
    linear_kernels,
    swiglu_kernels,
});

}  // namespace

std::span<const KernelEntry> kernels() {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries;
    for (const auto table : k_tables) {
      const std::span<const KernelEntry> part = table();
      entries.insert(entries.end(), part.begin(), part.end());
    }
    return entries;
  }();
  return all;
}

}  // namespace tessera::host
