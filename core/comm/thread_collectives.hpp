// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  collective calls of a group of thread ranks: whoever comes last does the work for all.
// Used: the thread communicator only.
// Must not know: slots, recorders.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/comm/collective_share.hpp"
#include "core/comm/thread_world.hpp"

namespace tessera {

struct SplitRequest {
  int color = 0;
  int key = 0;
  std::unique_ptr<Communicator> part;
};

/// All members have posted their call when the work is done, so it needs no member's help: nobody has to progress.
class ThreadCollectives {
 public:
  ThreadCollectives(std::shared_ptr<ThreadWorld> world, std::vector<int> world_ranks);

  /// True when this was the last one: the work is done. Otherwise `completion` will tell. Throws Error{disagreement},
  /// on all members, when they made different calls.
  bool post(int member, const CollectiveCall& call, const Completion& completion);

  /// Calls posted by a member so far.
  std::uint64_t posted(int member) const {
    return posted_[static_cast<std::size_t>(member)].load(std::memory_order_acquire);
  }

 private:
  struct Meeting {
    std::size_t arrived = 0;
    std::vector<CollectiveCall> calls;
    std::vector<Completion> completions;
  };

  void check(const Meeting& meeting) const;
  void refuse(const Meeting& meeting, std::size_t member) const;
  void execute(const Meeting& meeting);
  void split(const std::vector<CollectiveCall>& calls);  // defined beside the communicators that it makes

  const std::shared_ptr<ThreadWorld> world_;
  const std::vector<int> world_ranks_;
  std::mutex mutex_;
  std::vector<std::atomic<std::uint64_t>> posted_;
  // Call number s meets in place s mod k_slots. A member is at most k_slots calls ahead of the slowest one, and calls
  // are executed in their order, so the place is free again by then, and one scratch is enough.
  std::array<Meeting, Communicator::k_slots> meetings_;
  CollectiveShare share_;
};

}  // namespace tessera
