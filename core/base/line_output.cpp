// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/line_output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/core.h>

namespace tessera {
namespace {

/// Well below the second that a launcher leaves between asking its ranks to end and killing them.
constexpr int k_patience_milliseconds = 200;

constexpr std::size_t k_most_pending = 1 << 16;

mode_t kind_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? status.st_mode : 0;
}

/// A pipe or a terminal once more: that writing does not wait is a property of the opened file, which other processes
/// share. −1 for other kinds of files, or where it cannot be opened again.
int open_again(int descriptor) {
  const mode_t mode = kind_of(descriptor);
  if (!S_ISFIFO(mode) && !S_ISCHR(mode)) return -1;
  return ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool ready(int descriptor, int milliseconds) {
  pollfd wanted{descriptor, POLLOUT, 0};
  return ::poll(&wanted, 1, milliseconds) > 0;
}

/// As write(2), but −1 with EAGAIN where it would wait.
ssize_t write_now(int descriptor, int own, std::string_view text) {
  if (own >= 0) return ::write(own, text.data(), text.size());
  if (S_ISSOCK(kind_of(descriptor))) return ::send(descriptor, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  // What is ready takes so much without waiting, and perhaps no more.
  if (ready(descriptor, 0)) return ::write(descriptor, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
  errno = EAGAIN;
  return -1;
}

}  // namespace

LineOutput::LineOutput(int descriptor) : descriptor_(descriptor), own_(open_again(descriptor)) {}

LineOutput::~LineOutput() {
  offer();
  if (own_ >= 0) ::close(own_);
  own_ = -1;
}

bool LineOutput::becomes_ready() {
  if (waited_) return false;
  waited_ = true;
  return ready(own_ >= 0 ? own_ : descriptor_, k_patience_milliseconds);
}

/// As much as is taken now.
void LineOutput::offer() {
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const ssize_t taken = write_now(descriptor_, own_, rest);
    if (taken > 0) {
      rest.remove_prefix(static_cast<std::size_t>(taken));
      waited_ = false;
    } else if (taken == 0 || (errno != EAGAIN && errno != EINTR)) {
      failed_ = true;
      rest = {};
    } else if (errno == EAGAIN && !becomes_ready()) {
      break;
    }
  }
  pending_.erase(0, pending_.size() - rest.size());
}

void LineOutput::write(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  if (pending_.empty() || pending_.size() + lines.size() <= k_most_pending)
    pending_ += lines;
  else
    left_out_ += std::count(lines.begin(), lines.end(), '\n');
  offer();
  if (!pending_.empty() || left_out_ == 0) return;
  pending_ = fmt::format("tessera: {} lines are left out here: nobody took them\n", left_out_);
  left_out_ = 0;
  offer();
}

bool LineOutput::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

LineOutput& standard_output() {
  static LineOutput output(STDOUT_FILENO);
  return output;
}

LineOutput& standard_error() {
  static LineOutput output(STDERR_FILENO);
  return output;
}

}  // namespace tessera
