// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the MPI environment of a test program that was started on several ranks.
// Used: tests with RANKS; the object is made by mpi_main.cpp.
// Must not know: the tests.
#pragma once

#include "mpi/environment.hpp"

namespace tessera::test {

const mpi::Environment& mpi_environment();

}  // namespace tessera::test
