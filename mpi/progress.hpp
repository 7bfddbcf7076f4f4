// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  moving on all calls that a rank has posted, whichever it waits for.
// Used: all MPI communicators of a run share one.
// Must not know: what calls do.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "mpi/node_bell.hpp"
#include "mpi/posted_call.hpp"

namespace tessera::mpi {

/// MPI and our own state machines move only while somebody calls them. If a rank waited for one call and left its
/// others alone, two ranks could wait for each other's neglected calls. Communicators of several threads may share it.
class Progress {
 public:
  /// `bell`: where this rank sleeps; null where nobody would ring it.
  explicit Progress(NodeBell* bell) : bell_(bell) {}

  /// Posts a call by `start()` and keeps it until it is done. True when it is done at once.
  template <class Start>
  bool post(PostedCall& call, const Start& start) {
    const std::lock_guard lock(mutex_);
    start();
    if (call.advance()) {
      return true;
    }
    active_.push_back(&call);
    return false;
  }

  /// Advances all calls. True when this one is done.
  bool advance(const PostedCall& call);
  void advance_all();

  /// Makes room for so many more calls.
  void reserve(std::size_t calls);

  /// Returns when this call may be done: where a call needs MPI, after a moment; else when the bell has rung.
  void sleep(const PostedCall& call);
  static void nap();

  /// Forgets a call that will not be waited for, because its communicator ends.
  void forget(const PostedCall& call);

 private:
  void advance_active();
  bool is_active(const PostedCall& call) const;
  bool needs_mpi() const;

  NodeBell* bell_;
  std::mutex mutex_;
  std::vector<PostedCall*> active_;
  std::size_t reserved_ = 0;
};

/// Pauses between looks at something that others change: spins, then yields the processor, then asks for sleep.
class Patience {
 public:
  /// Where ranks have to share cores, spinning only keeps away who is waited for.
  enum class Cores : std::uint8_t { own, shared };
  explicit Patience(Cores cores) : spins_(cores == Cores::own ? k_long_spins : k_short_spins) {}

  /// False when it is time to sleep.
  bool pause();

 private:
  // A look takes some 50 ns, with a yield ten times as long: some tens of microseconds, then a millisecond.
  static constexpr int k_long_spins = 1000;
  static constexpr int k_short_spins = 50;
  static constexpr int k_yields = 2000;

  int spins_;
  int looks_ = 0;
};

}  // namespace tessera::mpi
