// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/progress.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace tessera::mpi {
namespace {

constexpr std::chrono::microseconds k_nap{20};

}  // namespace

bool Progress::advance(const PostedCall& call) {
  const std::lock_guard lock(mutex_);
  advance_active();
  return !is_active(call);
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

bool Progress::is_active(const PostedCall& call) const {
  return std::find(active_.begin(), active_.end(), &call) != active_.end();
}

bool Progress::needs_mpi() const {
  return std::any_of(active_.begin(), active_.end(), [](const PostedCall* call) { return call->needs_mpi(); });
}

void Progress::sleep(const PostedCall& call) {
  bool naps = bell_ == nullptr;
  if (!naps) {
    bell_->sleep([&] {
      const std::lock_guard lock(mutex_);
      advance_active();
      naps = needs_mpi();
      return naps || !is_active(call);
    });
  }
  if (naps) nap();
}

void Progress::nap() {
  std::this_thread::sleep_for(k_nap);
}

bool Patience::pause() {
  ++looks_;
  if (looks_ >= spins_ + k_yields) return false;
  if (looks_ >= spins_) std::this_thread::yield();
  return true;
}

}  // namespace tessera::mpi
