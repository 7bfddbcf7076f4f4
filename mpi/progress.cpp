// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/progress.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace tessera::mpi {
namespace {

// A look costs about a microsecond, so sleeping starts after some milliseconds.
constexpr int k_spins = 50;
constexpr int k_yields = 20000;
constexpr std::chrono::microseconds k_nap{20};

}  // namespace

bool Progress::advance(const PostedCall& call) {
  const std::lock_guard lock(mutex_);
  advance_active();
  return std::find(active_.begin(), active_.end(), &call) == active_.end();
}

void Progress::advance_all() {
  const std::lock_guard lock(mutex_);
  advance_active();
}

void Progress::reserve(std::size_t calls) {
  const std::lock_guard lock(mutex_);
  reserved_ += calls;
  active_.reserve(reserved_);
}

void Progress::forget(const PostedCall& call) {
  const std::lock_guard lock(mutex_);
  std::erase(active_, &call);
}

void Progress::advance_active() {
  std::erase_if(active_, [](PostedCall* call) { return call->advance(); });
}

void Patience::pause() {
  ++looks_;
  if (looks_ < k_spins) {
    return;
  }
  if (looks_ < k_yields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(k_nap);
  }
}

}  // namespace tessera::mpi
