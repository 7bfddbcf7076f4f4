// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `tessera bench kernels`: every kernel of a run's plans that has variants, all of them in turn on its shapes, and
//       the table of those that are worth it.
// Used: bench.cpp.
// Must not know: other benchmarks, what variants do.
#pragma once

#include <span>
#include <string>

namespace tessera::apps {

int bench_kernels(std::span<const std::string> arguments);

}  // namespace tessera::apps
