// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  whether a plan fits into this rank's memory, known before anything is allocated.
// Used: the verb `train`.
// Must not know: what the plan is for.
#pragma once

#include <cstdint>

#include "apps/ranks.hpp"
#include "core/config/settings.hpp"

namespace tessera::apps {

/// Bytes that this process holds now: after communicators were made and before the arena is, what the plan cannot know.
std::int64_t resident_bytes();

/// Memory of the node that nobody uses.
std::int64_t free_bytes();

/// Memory that a rank may use: train.memory_limit, else its share of what the node has free.
std::int64_t memory_limit(const Settings& settings, const Ranks& ranks);

/// Throws Error{resources} with the numbers and the options that would make it fit.
void check_memory(std::int64_t arena, std::int64_t runtime, std::int64_t limit);

}  // namespace tessera::apps
