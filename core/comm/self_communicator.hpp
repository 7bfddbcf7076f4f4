// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the communicator of one rank alone: every call is a copy or nothing.
// Used: axes of size 1, programs without a launcher.
// Must not know: other ranks.
#pragma once

#include <memory>

#include "core/comm/communicator.hpp"

namespace tessera {

/// `world_rank`: the rank of the caller among all ranks of the run.
std::unique_ptr<Communicator> make_self_communicator(int world_rank = 0);

}  // namespace tessera
