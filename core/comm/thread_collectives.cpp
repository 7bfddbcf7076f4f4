// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/thread_collectives.hpp"

#include <fmt/core.h>

namespace tessera {
ThreadCollectives::ThreadCollectives(std::shared_ptr<ThreadWorld> world, std::vector<int> world_ranks)
    : world_(std::move(world)), world_ranks_(std::move(world_ranks)), posted_(world_ranks_.size()) {
  share_.reserve(static_cast<int>(world_ranks_.size()));
  for (Meeting& meeting : meetings_) {
    meeting.calls.resize(world_ranks_.size());
    meeting.completions.resize(world_ranks_.size());
  }
}

bool ThreadCollectives::post(int member, const CollectiveCall& call, const Completion& completion) {
  world_->throw_if_aborted();
  const auto m = static_cast<std::size_t>(member);
  Meeting& meeting = meetings_[posted_[m].load(std::memory_order_relaxed) % meetings_.size()];
  {
    const std::lock_guard lock(mutex_);
    meeting.calls[m] = call;
    meeting.completions[m] = completion;
    posted_[m].fetch_add(1, std::memory_order_release);
    if (++meeting.arrived < world_ranks_.size()) {
      return false;
    }
    meeting.arrived = 0;
  }
  check(meeting);
  const ThreadWorld::Transfer transfer(*world_);
  execute(meeting);
  for (std::size_t i = 0; i < world_ranks_.size(); ++i) {
    if (i != m) {
      complete(*world_, meeting.completions[i]);
    }
  }
  return true;
}

void ThreadCollectives::check(const Meeting& meeting) const {
  const std::size_t members = meeting.calls.size();
  for (std::size_t i = 1; i < members; ++i) {
    if (!fits(meeting.calls, i, 0)) refuse(meeting, i);
  }
  if (meeting.calls.front().kind != CallKind::all_to_all) return;
  for (std::size_t i = 0; i < members; ++i) {
    for (std::size_t j = 0; j < members; ++j) {
      if (!fits(meeting.calls, i, j)) refuse(meeting, i);
    }
  }
}

void ThreadCollectives::refuse(const Meeting& meeting, std::size_t member) const {
  world_->abort(ErrorKind::disagreement,
                fmt::format("collective call {} of a group of {}: rank {} made {}, rank {} made {}", posted(0),
                            world_ranks_.size(), world_ranks_.front(), describe(meeting.calls.front()),
                            world_ranks_[member], describe(meeting.calls[member])));
  world_->throw_if_aborted();
}

void ThreadCollectives::execute(const Meeting& meeting) {
  if (meeting.calls.front().kind == CallKind::split) return split(meeting.calls);
  for (int member = 0; member < static_cast<int>(meeting.calls.size()); ++member) {
    share_.run(meeting.calls, member, Division::among_members);
  }
}

}  // namespace tessera
