// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stop_requests.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include "core/base/log.hpp"

namespace tessera::apps {
namespace {

constexpr std::array k_signals{SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP};
constexpr std::string_view k_nothing_done = "tessera: stopped by a signal before the first step: nothing was changed\n";

/// While MPI starts a request is kept: a launcher may wait for ever for a rank that ends in the middle of that.
enum class Phase : std::uint8_t { mpi_starts, nothing_to_save, training };

std::atomic<int> received_signal{0};
std::atomic<Phase> phase{Phase::mpi_starts};
static_assert(std::atomic<Phase>::is_always_lock_free, "is read where a signal arrives");

[[noreturn]] void end_at_once() {
  (void)!::write(STDERR_FILENO, k_nothing_done.data(), k_nothing_done.size());
  ::_exit(static_cast<int>(ErrorKind::stopped));
}

void remember(int number) {
  if (phase == Phase::nothing_to_save) end_at_once();
  received_signal = number;
  if (number == SIGINT) ::signal(SIGINT, SIG_DFL);  // whoever asks twice at a terminal does not want to wait
}

/// Signals that whoever started the program has blocked out (nohup) stay so.
void catch_signals(void (*handler)(int)) {
  for (const int number : k_signals) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, nullptr);
  }
}

}  // namespace

StopRequests::StopRequests() : start_(std::chrono::steady_clock::now()) {
  catch_signals(remember);
}

StopRequests::~StopRequests() {
  catch_signals(SIG_DFL);
  // The run is over; what asks for a save has come too late to do harm. Who wants the process gone can have that.
  for (const int number : {SIGUSR1, SIGUSR2, SIGHUP}) ::signal(number, SIG_IGN);
  phase = Phase::mpi_starts;
}

void StopRequests::mpi_started() {
  phase = Phase::nothing_to_save;
  if (received_signal != 0) end_at_once();
}

void StopRequests::begin(Ranks& ranks, std::filesystem::path stop_file, double seconds) {
  ranks_ = &ranks;
  stop_file_ = std::move(stop_file);
  limited_ = seconds > 0;
  end_ = start_ + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  phase = Phase::training;
  if (std::error_code error; ranks.root() && !stop_file_.empty() && std::filesystem::exists(stop_file_, error))
    log_warning("run", fmt::format("{} is there already: this run stops behind its first step", stop_file_.native()));
}

std::string StopRequests::look() const {
  if (const int number = received_signal.load()) return fmt::format("signal {} (SIG{})", number, sigabbrev_np(number));
  if (!ranks_->root()) return {};
  if (limited_ && std::chrono::steady_clock::now() >= end_) return "the time limit (train.stop_after)";
  std::error_code unseen;  // a file system that fails for a while asks for nothing
  if (!stop_file_.empty() && std::filesystem::exists(stop_file_, unseen))
    return fmt::format("the file {}", stop_file_.string());
  return {};
}

void StopRequests::remove_stop_file() const {
  std::error_code error;
  if (ranks_->root() && !stop_file_.empty()) std::filesystem::remove(stop_file_, error);
  if (error)
    log_warning("run", fmt::format("{} cannot be removed ({}): it stops the next run, too", stop_file_.native(),
                                   error.message()));
}

bool StopRequests::asked() {
  if (reason_.empty()) reason_ = look();
  return !ranks_->world().agree(reason_.empty());
}

}  // namespace tessera::apps
