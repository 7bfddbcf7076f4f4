// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  every allocation of a program, C++ or C, with who made it.
// Used: tests that link tessera_allocation_watch, which replaces malloc and its relatives in the whole program.
// Must not know: who may allocate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::test {

/// One allocation: the file of the program or library whose code asked for it, past the C and C++ standard libraries,
/// and the callers, innermost first.
struct AllocationSite {
  std::string library;  ///< without folders: "libtessera.so.0.1.0"
  std::vector<std::string> callers;
};

/// Watches all threads from its construction until sites() is called. One at a time.
class AllocationWatch {
 public:
  AllocationWatch();
  ~AllocationWatch();
  AllocationWatch(const AllocationWatch&) = delete;
  AllocationWatch& operator=(const AllocationWatch&) = delete;

  /// Allocations so far, those that were freed meanwhile included. Throws Error{internal} when there were too many.
  std::vector<AllocationSite> sites();
};

/// Those of our own code: the program itself, or a library of this project.
std::vector<AllocationSite> ours(std::vector<AllocationSite> sites);

/// One line per site.
std::string describe(const std::vector<AllocationSite>& sites);

}  // namespace tessera::test
