// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the transform that turns a model's graph into one that generates text token by token.
// Used: the generator.
// Must not know: sampling, weights, memory.
#pragma once

#include "core/graph/graph.hpp"

namespace tessera {

/// Replaces every attention of the logical graph by cached attention, with caches of `capacity` tokens as state values.
void cache_attention(Graph& logical, std::int64_t capacity);

}  // namespace tessera
