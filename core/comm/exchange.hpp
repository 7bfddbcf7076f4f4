// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  small exchanges of control data on the host, outside plans: they return when they are done.
// Used: what compares ranks before or between steps.
// Must not know: what the words mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/comm/communicator.hpp"

namespace tessera {

/// The words of all ranks, one behind the other in the order of ranks; all have the same number of them. Collective.
std::vector<std::int64_t> gather_words(Communicator& ranks, std::span<const std::int64_t> mine);

/// Every rank ends with the root's elements. Collective.
void broadcast_from(Communicator& ranks, int root, View inout);

}  // namespace tessera
