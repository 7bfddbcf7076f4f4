// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/thread_world.hpp"

#include <thread>

namespace tessera {

void ThreadWorld::notify(int rank) {
  std::atomic<int>& events = ranks_[static_cast<std::size_t>(rank)].events;
  events.fetch_add(1, std::memory_order_acq_rel);
  events.notify_all();
}

void ThreadWorld::notify_all() {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    notify(static_cast<int>(rank));
  }
}

void ThreadWorld::abort(ErrorKind kind, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_.load(std::memory_order_relaxed)) {
      return;
    }
    kind_ = kind;
    reason_ = reason;
    aborted_.store(true);
  }
  notify_all();
}

void ThreadWorld::throw_if_aborted() const {
  if (!aborted_.load()) return;
  while (transfers_.load() > 0) std::this_thread::yield();
  throw Error(kind_, reason_);
}

ThreadWorld::Transfer::Transfer(ThreadWorld& world) : world_(world) {
  world_.transfers_.fetch_add(1);
  if (!world_.aborted_.load()) return;
  world_.transfers_.fetch_sub(1);  // before the others are waited for
  world_.throw_if_aborted();
}

void ThreadWorld::leave(int rank) {
  ranks_[static_cast<std::size_t>(rank)].left.store(true, std::memory_order_release);
  notify_all();
}

}  // namespace tessera
