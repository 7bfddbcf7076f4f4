// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace tessera::mpi {
namespace {

/// A rank that rings and dies in between must not leave others asleep for ever.
constexpr timespec k_longest_sleep{0, 100'000'000};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  static_assert(sizeof(word) == 4);
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void NodeBell::wake() noexcept {
  rings_.fetch_add(1, std::memory_order_acq_rel);
  (void)futex(rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

void NodeBell::doze(std::uint32_t seen) noexcept {
  // A ring between the look and here has changed the word: then this returns at once.
  (void)futex(rings_, FUTEX_WAIT, seen, &k_longest_sleep);
}

}  // namespace tessera::mpi
