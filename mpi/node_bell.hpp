// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  how a rank sleeps until another rank of its node has changed something that it may wait for.
// Used: ranks that share memory; lies in that memory.
// Must not know: what is waited for.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::mpi {

/// One for each rank. Zeroed memory is a valid bell.
class NodeBell {
 public:
  /// To be called after the change, by whoever made it. Costs a look where nobody sleeps. A fence must lie between the
  /// change and the look: one is enough for several bells, see `announce`.
  void ring() noexcept {
    if (asleep_.load(std::memory_order_relaxed) != 0) wake();
  }

  /// The fence between a change and `ring`.
  static void announce() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

  /// Returns when `ready()`, which does not throw, is true, when the bell rings, or after a while: a ring may come for
  /// something else.
  template <class Ready>
  void sleep(const Ready& ready) noexcept {
    asleep_.fetch_add(1, std::memory_order_relaxed);
    announce();  // whoever makes a change behind this line sees a sleeper
    const std::uint32_t seen = rings_.load(std::memory_order_acquire);
    if (!ready()) doze(seen);
    asleep_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  void wake() noexcept;
  void doze(std::uint32_t seen) noexcept;

  std::atomic<std::uint32_t> rings_;
  std::atomic<std::uint32_t> asleep_;
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a bell is shared by processes");

}  // namespace tessera::mpi
