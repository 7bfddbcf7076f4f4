// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the same run in small: sizes that a laptop can train, cut by the same layout in the same way.
// Used: the verb `verify`.
// Must not know: what is done with it.
#pragma once

#include "core/config/settings.hpp"
#include "core/model/model.hpp"

namespace tessera::apps {

/// The smallest n from min(least, size) on that ranks share as they share `size`: with the same common divisor with
/// `unit`. size itself at the latest.
std::int64_t shrunk(std::int64_t size, std::int64_t least, std::int64_t unit);

/// `settings` with smaller sizes. Kept: every degree of parallelism, strategies and schedule, the kind of model, query
/// heads per key head, and for everything that ranks share (heads, features, vocabulary, tokens, layers, micro-batches)
/// whether it divides. Layers become about four, or one per chunk; parallel.layers keeps its unevenness; heads get 4
/// features, samples about 32 tokens, a step 2 micro-batches per stage of 1 or 2 samples. `model`: what the settings say.
Settings smaller(const Settings& settings, const ModelConfig& model, int world);

}  // namespace tessera::apps
