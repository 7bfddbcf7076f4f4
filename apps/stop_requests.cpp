// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stop_requests.hpp"

#include <signal.h>

#include <atomic>

#include <fmt/core.h>

namespace tessera::apps {
namespace {

std::atomic<int> received_signal{0};

void remember(int number) {
  received_signal.store(number, std::memory_order_relaxed);
}

void catch_signals(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGUSR1, SIGUSR2, SIGTERM}) sigaction(number, &action, nullptr);
}

}  // namespace

StopRequests::StopRequests(Ranks& ranks, std::filesystem::path stop_file, double seconds)
    : ranks_(ranks),
      stop_file_(std::move(stop_file)),
      end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000))),
      limited_(seconds > 0) {
  catch_signals(remember);
}

StopRequests::~StopRequests() {
  catch_signals(SIG_DFL);
}

std::string StopRequests::look() const {
  if (const int number = received_signal.load(std::memory_order_relaxed)) return fmt::format("signal {}", number);
  if (!ranks_.root()) return {};
  if (limited_ && std::chrono::steady_clock::now() >= end_) return "the time limit (train.stop_after)";
  if (!stop_file_.empty() && std::filesystem::exists(stop_file_))
    return fmt::format("the file {}", stop_file_.string());
  return {};
}

bool StopRequests::asked() {
  if (reason_.empty()) reason_ = look();
  return !ranks_.world().agree(reason_.empty());
}

}  // namespace tessera::apps
