// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  counting what C++ code allocates, to show that steady calls allocate nothing.
// Used: tests that link tessera_count_allocations, which replaces operator new of the whole program.
// Must not know: who allocates. Libraries written in C (MPI) use malloc and are not seen.
#pragma once

#include <cstdint>

namespace tessera::test {

/// Calls of operator new that the calling thread has made so far.
std::int64_t allocations();

}  // namespace tessera::test
