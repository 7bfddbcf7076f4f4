// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the layers of each built-in architecture.
// Used: model.cpp.
// Must not know: inputs and head of the model, which are the same for all.
#pragma once

#include "core/model/blocks.hpp"

namespace tessera {

/// Embedding and layers; the residual stream after the last layer, [s, b, h], and the embedding table.
blocks::Embedded llama_layers(blocks::BlockContext& context);
blocks::Embedded gpt_layers(blocks::BlockContext& context);

}  // namespace tessera
