// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `tessera bench gemm`: fp32 matrix products beside what the processor can do.
// Used: bench.cpp.
// Must not know: other benchmarks, models (but for one model's sizes).
#pragma once

#include <span>
#include <string>

namespace tessera::apps {

/// Throws Error{different} when a product came out faster than the peak, or the peak faster than a processor can be:
/// then the measurement is wrong.
int bench_gemm(std::span<const std::string> arguments);

}  // namespace tessera::apps
