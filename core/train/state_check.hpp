// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  whether weights and optimizer states are worth keeping: finite, and the same bits on all ranks that hold the
//       same part.
// Used: before a checkpoint is written, and to explain losses that are not finite.
// Must not know: files, what follows.
#pragma once

#include <string>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/train/tensor_part.hpp"

namespace tessera {

/// A sentence for each tensor that is not sound, at most `most` of them, the same on all ranks: which rank holds how
/// many values that are not finite, or which ranks differ. Reads every byte of the parts once or twice. Collective;
/// all ranks give the same tensors, each in its own order.
std::vector<std::string> state_problems(std::vector<TensorPart> parts, Communicator& world, std::size_t most);

}  // namespace tessera
