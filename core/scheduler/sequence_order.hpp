// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the order in which the tokens of a sequence lie, so that causal attention costs all context-parallel ranks the
//       same.
// Used: context strategies.
// Must not know: layouts, batches: tokens travel with their positions, and only positions decide what is seen.
#pragma once

#include <string_view>
#include <vector>

#include "core/mesh/layout.hpp"

namespace tessera {

/// When every rank gets an early and a late piece of the sequence instead of one piece.
enum class Zigzag : std::uint8_t { where_possible, always, never };

/// "auto", "on" or "off".
Zigzag zigzag_named(std::string_view word);

/// The sequence in 2·ranks equal pieces, of which rank i holds i and 2·ranks − 1 − i (Dubey et al. 2024,
/// section 3.3.2): runs of places in the order in which they lie. Empty where tokens lie as they come. Throws
/// Error{configuration} when it must be and the sequence cannot be cut like that.
std::vector<Range> zigzag_order(std::int64_t sequence, int ranks, Zigzag zigzag);

}  // namespace tessera
