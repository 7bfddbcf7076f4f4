// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the one place that includes MPI's own header: checked calls, owned handles, a communicator's MPI handle.
// Used: mpi/*.cpp, and io/, whose files are opened by MPI.
// Must not know: what is communicated.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string_view>

#include "core/base/unique_handle.hpp"
#include "core/comm/communicator.hpp"

namespace tessera::mpi {

/// Throws an Error with MPI's text when `code` is not MPI_SUCCESS. `call` says what was tried. The kind follows the
/// class of the error: io, not_found, permission, resources, peer_lost, else internal.
void check(int code, std::string_view call);

struct CommTraits {
  using Handle = MPI_Comm;
  static Handle null() noexcept { return MPI_COMM_NULL; }
  static void close(Handle handle) { check(MPI_Comm_free(&handle), "MPI_Comm_free"); }
};
struct WindowTraits {
  using Handle = MPI_Win;
  static Handle null() noexcept { return MPI_WIN_NULL; }
  static void close(Handle handle) { check(MPI_Win_free(&handle), "MPI_Win_free"); }
};
using UniqueComm = UniqueHandle<CommTraits>;
using UniqueWindow = UniqueHandle<WindowTraits>;

/// Borrowed. Throws Error{internal} when the communicator is not one of MPI.
MPI_Comm native_handle(const Communicator& communicator);

}  // namespace tessera::mpi
