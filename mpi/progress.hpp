// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  moving on all calls that a rank has posted, whichever it waits for.
// Used: all MPI communicators of a run share one.
// Must not know: what calls do.
#pragma once

#include <mutex>
#include <vector>

#include "mpi/posted_call.hpp"

namespace tessera::mpi {

/// MPI and our own state machines move only while somebody calls them. If a rank waited for one call and left its
/// others alone, two ranks could wait for each other's neglected calls. Communicators of several threads may share it.
class Progress {
 public:
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

  /// Forgets a call that will not be waited for, because its communicator ends.
  void forget(const PostedCall& call);

 private:
  void advance_active();

  std::mutex mutex_;
  std::vector<PostedCall*> active_;
  std::size_t reserved_ = 0;
};

/// Pauses between looks at something that others change: spins, then yields, then sleeps a little.
class Patience {
 public:
  void pause();

 private:
  int looks_ = 0;
};

}  // namespace tessera::mpi
