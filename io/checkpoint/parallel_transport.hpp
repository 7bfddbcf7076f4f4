// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  writing pieces through parallel HDF5.
// Used: make_transport.
// Must not know: when a checkpoint counts.
#pragma once

#include <memory>

#include "io/checkpoint/transport.hpp"

namespace tessera::io {

/// Transport::independent or collective. Throws Error{unavailable} when HDF5 was built without MPI or the ranks are not
/// MPI's. Opening and finishing are collective.
std::unique_ptr<PieceTransport> make_parallel_transport(Transport transport, Communicator& ranks);

}  // namespace tessera::io
