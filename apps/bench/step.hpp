// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `tessera bench step` and `tessera bench ops`: training steps on random tokens, as a whole and op by op.
// Used: bench.cpp.
// Must not know: other benchmarks.
#pragma once

#include <span>
#include <string>

namespace tessera::apps {

/// A step of the model that the options of a run describe, on all ranks of the launcher: tokens per second, time per
/// op, and the ratio to the time of its matrix products alone.
int bench_step(std::span<const std::string> arguments);

/// Every op with its shapes in a step of one layer of GPT-2 124M and of a llama of the same size; or of the one model
/// that `--model.…` options describe.
int bench_ops(std::span<const std::string> arguments);

}  // namespace tessera::apps
