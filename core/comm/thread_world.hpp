// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what all thread ranks of a run share: how they sleep and wake, and how they learn that one of them failed.
// Used: the thread communicator only.
// Must not know: groups, calls.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace tessera {

class ThreadWorld {
 public:
  explicit ThreadWorld(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  /// Wakes a rank: something that it may wait for has changed.
  void notify(int rank);

  /// Sleeps until `done()`, which is asked whenever the rank is notified and may throw. Throws when the run is aborted.
  template <class Done>
  void wait(int rank, const Done& done) {
    std::atomic<int>& events = ranks_[static_cast<std::size_t>(rank)].events;
    while (true) {
      const int seen = events.load(std::memory_order_acquire);
      if (done()) {
        return;
      }
      throw_if_aborted();
      events.wait(seen, std::memory_order_acquire);
    }
  }

  /// Ends the waits of all ranks with this error. The first one stays.
  void abort(ErrorKind kind, const std::string& reason);

  /// Throws only when nobody reads or writes buffers of others any more: they may be gone behind the throw. Not to be
  /// called during a transfer of one's own.
  void throw_if_aborted() const;

  /// As long as it lives, buffers and completions of other ranks are read and written, and no rank of an aborted run
  /// is told. The constructor throws when the run is aborted.
  class Transfer {
   public:
    explicit Transfer(ThreadWorld& world);
    ~Transfer() { world_.transfers_.fetch_sub(1); }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

   private:
    ThreadWorld& world_;
  };

  /// The rank makes no more calls: who waits for it waits in vain.
  void leave(int rank);
  bool has_left(int rank) const { return ranks_[static_cast<std::size_t>(rank)].left.load(std::memory_order_acquire); }

 private:
  struct alignas(64) Rank {
    std::atomic<int> events{0};
    std::atomic<bool> left{false};
  };

  void notify_all();

  std::vector<Rank> ranks_;
  // Both in one order for all ranks: either a transfer sees that the run is aborted, or who leaves sees the transfer.
  std::atomic<bool> aborted_{false};
  std::atomic<int> transfers_{0};
  std::mutex mutex_;
  ErrorKind kind_ = ErrorKind::peer_lost;
  std::string reason_;
};

/// Where the end of a posted call is shown to the rank that posted it.
struct Completion {
  std::atomic<bool>* done = nullptr;
  int world_rank = -1;
};

/// The flag may be gone as soon as it is set.
inline void complete(ThreadWorld& world, const Completion& completion) {
  completion.done->store(true, std::memory_order_release);
  world.notify(completion.world_rank);
}

}  // namespace tessera
