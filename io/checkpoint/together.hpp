// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  ranks that succeed or fail together, and the few small exchanges that files need.
// Used: writer and reader of checkpoints.
// Must not know: what is being done.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.hpp"

namespace tessera::io {

/// Collective. Returns when no rank has an error; else throws on all ranks an Error of the kind and with the words of
/// the first rank that has one ("rank 3: cannot write ...").
void agree_on(Communicator& ranks, const std::exception_ptr& mine);

/// Collective. Runs `action` on every rank, then agrees.
void together(Communicator& ranks, const std::function<void()>& action);

/// Collective. Runs `action` on rank 0 only, then agrees.
void on_root(Communicator& ranks, const std::function<void()>& action);

/// Collective. Every rank gets rank 0's text.
std::string from_root(Communicator& ranks, const std::string& text);

/// Collective. The values of all ranks, in the order of ranks; ranks may have different numbers of them.
std::vector<std::int64_t> gather(Communicator& ranks, std::span<const std::int64_t> mine);

}  // namespace tessera::io
