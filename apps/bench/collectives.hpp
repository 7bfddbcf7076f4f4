// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `bench collectives`: calls between ranks beside those of MPI and beside copying.
// Used: the verb `bench`.
// Must not know: how calls are made.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/config/option.hpp"

namespace tessera::apps {

const std::vector<Option>& collectives_options();

/// All ranks of the job make the same calls. Ours, MPI's and copies take turns, in one order and in the reverse one.
int bench_collectives(std::span<const std::string> arguments);

}  // namespace tessera::apps
