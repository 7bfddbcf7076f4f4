// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What is built when HDF5 has no MPI.
#include <fmt/core.h>

#include "io/checkpoint/parallel_transport.hpp"

namespace tessera::io {

std::unique_ptr<PieceTransport> make_parallel_transport(Transport transport, Communicator&) {
  throw Error(ErrorKind::unavailable, fmt::format("HDF5 was built without MPI: no {} transport", name_of(transport)),
              "Use the direct transport, or build with a parallel HDF5.");
}

}  // namespace tessera::io
