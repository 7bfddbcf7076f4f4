// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the sum (max) of what several ranks hold, in the order of ranks.
// Used: implementations of Communicator.
// Must not know: how the inputs came here.
#pragma once

#include <cstdint>
#include <span>

#include "core/comm/communicator.hpp"

namespace tessera {

/// For e < count: sum over i of inputs[i][input_first + e], written to every outputs[j][output_first + e]. Added in the
/// order of i, in accumulation_of(dtype) and rounded once; integers wrap; a maximum with a NaN is a NaN. An output may
/// be one of the inputs when the same elements are read and written. At least one input.
void reduce_in_order(std::span<const void* const> inputs, std::int64_t input_first, std::span<void* const> outputs,
                     std::int64_t output_first, std::int64_t count, DType dtype, ReduceOp op);

}  // namespace tessera
