// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  attention and its gradient in double, one query after the other, on parts of a value.
// Used: the naive executor.
// Must not know: layouts, speed.
#pragma once

#include <span>
#include <string_view>

#include "core/device/kernel.hpp"

namespace tessera::test {

/// Runs `attention` or `attention_grad` (operands as in core/graph/ops/attention.cpp, floating ones f64); false for any
/// other op.
bool launch_naive_attention(std::string_view op, std::span<const Tensor> in, std::span<const Tensor> out,
                            const Attributes& attributes);

}  // namespace tessera::test
