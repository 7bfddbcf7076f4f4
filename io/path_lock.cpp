// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/path_lock.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "core/base/log.hpp"

namespace tessera::io {
namespace {

constexpr std::chrono::milliseconds k_pause{50};
constexpr std::size_t k_most_text = 256;
constexpr std::string_view k_holder = "process ";

enum class Attempt : std::uint8_t { locked, held_by_another, impossible };

std::string own_name() {
  std::array<char, k_most_text> host{};  // stays empty where the host has no name
  (void)::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}{} on {}\n", k_holder, ::getpid(), host.data());
}

/// Whoever held the lock removes the file: what was locked may be gone under its name.
bool is_still_at(int descriptor, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

std::string text_of(int descriptor) {
  std::string text(k_most_text, '\0');
  const ssize_t bytes = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

/// A lock of ours, or what a killed process left of one: nobody else's file is written over, nor one that a link names.
bool is_lock(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return status.st_size == 0 || text_of(descriptor).starts_with(k_holder);
}

UniqueHandle<DescriptorTraits> open_lock(const std::filesystem::path& path) {
  constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  UniqueHandle<DescriptorTraits> descriptor(::open(path.c_str(), flags, 0666));
  if (!descriptor && errno != ELOOP) throw output_error("cannot make", path, errno);
  if (!descriptor || !is_lock(descriptor.get()))
    throw Error(ErrorKind::cannot_create, fmt::format("{} is no lock of this program", path.native()),
                "A lock has to have this name: move what is there, or choose another place.");
  return descriptor;
}

Attempt try_lock(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return Attempt::locked;
  return errno == EWOULDBLOCK || errno == EINTR ? Attempt::held_by_another : Attempt::impossible;
}

std::string holder(int descriptor) {
  std::string text = text_of(descriptor);
  text.resize(std::min(text.find('\n'), text.size()));
  return text.empty() ? "another process" : text;
}

}  // namespace

PathLock::PathLock(std::filesystem::path path, const std::filesystem::path& what, std::chrono::milliseconds patience)
    : path_(std::move(path)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    descriptor_ = open_lock(path_);
    const Attempt attempt = try_lock(descriptor_.get());
    if (attempt == Attempt::impossible)
      log_warning("files",
                  fmt::format("{} cannot be locked here: start no second run that writes there", what.native()));
    if (attempt == Attempt::impossible || (attempt == Attempt::locked && is_still_at(descriptor_.get(), path_))) break;
    if (attempt == Attempt::held_by_another && std::chrono::steady_clock::now() >= end)
      throw Error(ErrorKind::cannot_create, fmt::format("{} is in use by {}", what.native(), holder(descriptor_.get())),
                  "Wait until that one has ended, or choose another place.");
    std::this_thread::sleep_for(k_pause);
  }
  const std::string name = own_name();
  if (::ftruncate(descriptor_.get(), 0) != 0 ||
      ::pwrite(descriptor_.get(), name.data(), name.size(), 0) != static_cast<ssize_t>(name.size()))
    throw output_error("cannot write", path_, errno);
}

PathLock::~PathLock() {
  ::unlink(path_.c_str());  // before the lock is freed
}

}  // namespace tessera::io
