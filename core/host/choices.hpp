// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  numbers from memory that are about to be used as indices: one look before, none in the loops.
// Used: kernels of the host that follow a router's choice.
// Must not know: what is indexed.
#pragma once

#include <algorithm>
#include <string>

#include "core/base/error.hpp"
#include "core/device/kernel.hpp"

namespace tessera::host {

/// Throws Error{internal} unless all of an i32 tensor lie in [0, end).
inline void check_below(std::string_view what, const Tensor& tensor, std::int64_t end) {
  const auto* const values = tensor.as<const std::int32_t>();
  std::uint32_t largest = 0;  // negative ones are large
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < tensor.count(); ++i) largest = std::max(largest, static_cast<std::uint32_t>(values[i]));
  TESSERA_CHECK(
      tensor.count() == 0 || largest < end,
      std::string(what) + " " + std::to_string(static_cast<std::int32_t>(largest)) + " of " + std::to_string(end));
}

}  // namespace tessera::host
