// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tessera::io {
namespace {

// One call of the kernel moves at most 2 GiB; a smaller limit keeps signals answered.
constexpr std::int64_t k_call_bytes = 256 << 20;

struct Advice {
  ErrorKind kind;
  const char* hint;
};

Advice advice_for(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return {ErrorKind::not_found, "Check the path."};
    case EISDIR:
      return {ErrorKind::not_found, "Name a file, not a folder."};
    case EACCES:
    case EPERM:
      return {ErrorKind::permission, "Check owner and mode of the path and of the folders above it."};
    case EROFS:
    case EEXIST:
      return {ErrorKind::cannot_create, "Choose another output path."};
    case ENOSPC:
      return {ErrorKind::io, "The file system is full: free space or choose another one."};
    case EDQUOT:
      return {ErrorKind::io, "The quota is used up: free space or choose another file system."};
    case EFBIG:
      return {ErrorKind::io, "The limit of the size of a file is reached: raise it (ulimit -f), or use more files."};
    case EMFILE:
    case ENFILE:
      return {ErrorKind::resources, "Raise the limit (ulimit -n) or start fewer ranks per node."};
    case ENOMEM:
      return {ErrorKind::resources, "Use a node with more memory, or start fewer ranks on it."};
    default:
      return {ErrorKind::io, "Check the file system and the disk."};
  }
}

/// Kinds of failures that mean: nothing can be made at this place.
bool is_about_the_place(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EISDIR:
    case EEXIST:
    case EROFS:
    case ENXIO:
    case ENAMETOOLONG:
      return true;
    default:
      return false;
  }
}

int flags_of(Access access) {
  switch (access) {
    case Access::read:
      return O_RDONLY | O_NONBLOCK;  // of a pipe, whose other end nobody may have opened
    case Access::overwrite:
      return O_RDWR;
    case Access::create:
      return O_RDWR | O_CREAT | O_TRUNC;
    case Access::append:
      return O_RDWR | O_CREAT | O_APPEND;
  }
  return O_RDONLY;
}

}  // namespace

void DescriptorTraits::close(int descriptor) {
  if (::close(descriptor) != 0 && errno != EINTR) throw system_error("cannot finish writing", "a file", errno);
}

Error system_error(std::string_view what, const std::filesystem::path& path, int error_number) {
  const Advice advice = advice_for(error_number);
  const std::string reason = std::generic_category().message(error_number);
  return Error(advice.kind, fmt::format("{} {}: {}", what, path.native(), reason), advice.hint);
}

Error output_error(std::string_view what, const std::filesystem::path& path, int error_number) {
  const Error error = system_error(what, path, error_number);
  if (!is_about_the_place(error_number)) return error;
  return Error(ErrorKind::cannot_create, error.what(), "Choose another output path.");
}

File::File(std::filesystem::path path, Access access) : path_(std::move(path)) {
  const int descriptor = ::open(path_.c_str(), flags_of(access) | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw access == Access::read ? system_error("cannot open", path_, errno)
                                 : output_error("cannot open for writing", path_, errno);
  descriptor_ = UniqueHandle<DescriptorTraits>(descriptor);
  const struct stat status = examine();
  if (S_ISDIR(status.st_mode)) throw system_error("cannot open", path_, EISDIR);
  if (!S_ISREG(status.st_mode))
    throw Error(access == Access::read ? ErrorKind::not_found : ErrorKind::cannot_create,
                fmt::format("{} is no regular file", path_.native()), "Name a file, not a device or a pipe.");
}

struct stat File::examine() const {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) throw system_error("cannot examine", path_, errno);
  return status;
}

std::int64_t File::size() const {
  return examine().st_size;
}

bool File::exists() const {
  return examine().st_nlink > 0;
}

void File::read(std::int64_t offset, void* data, std::int64_t bytes) const {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes, k_call_bytes));
    const ssize_t got = ::pread(descriptor_.get(), to, wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("cannot read", path_, errno);
    if (got == 0) {
      throw Error(ErrorKind::data,
                  fmt::format("{} has {} bytes, {} at byte {} were expected", path_.native(), size(), bytes, offset),
                  "The file is truncated: copy or make it again.");
    }
    to += got;
    offset += got;
    bytes -= got;
  }
}

void File::write(std::int64_t offset, const void* data, std::int64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes, k_call_bytes));
    const ssize_t put = ::pwrite(descriptor_.get(), from, wanted, offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw system_error("cannot write", path_, put < 0 ? errno : ENOSPC);
    from += put;
    offset += put;
    bytes -= put;
  }
}

void File::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_.get(), bytes.data(), std::min(bytes.size(), std::size_t{k_call_bytes}));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw system_error("cannot write", path_, put < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void File::reserve(std::int64_t bytes) {
  while (::fallocate(descriptor_.get(), 0, 0, bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return;
    throw system_error(fmt::format("cannot reserve {} for", human_bytes(bytes)), path_, errno);
  }
}

void File::sync() {
  if (::fsync(descriptor_.get()) != 0) throw system_error("cannot bring to disk", path_, errno);
}

void sync_folder(const std::filesystem::path& folder) {
  const UniqueHandle<DescriptorTraits> descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) throw system_error("cannot open", folder, errno);
  // Some network file systems refuse to sync a folder; they make it permanent by themselves.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    throw system_error("cannot bring to disk", folder, errno);
}

void rename_path(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw system_error(fmt::format("cannot rename {} to", from.native()), to, errno);
}

std::string read_text(const std::filesystem::path& path, std::int64_t max_bytes) {
  const File file(path, Access::read);
  const std::int64_t bytes = file.size();
  if (bytes > max_bytes) {
    throw Error(ErrorKind::data, fmt::format("{} has {}, at most {} were expected", path.native(), human_bytes(bytes),
                                             human_bytes(max_bytes)));
  }
  std::string text(static_cast<std::size_t>(bytes), '\0');
  file.read(0, text.data(), bytes);
  return text;
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  try {
    File file(temporary, Access::create);
    file.append(text);
    file.sync();
    file.close();
    rename_path(temporary, path);
  } catch (...) {
    std::error_code ignored;  // what went wrong before matters more
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  sync_folder(path.has_parent_path() ? path.parent_path() : std::filesystem::path("."));
}

std::int64_t free_bytes(const std::filesystem::path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) throw system_error("cannot examine", folder, errno);
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

std::string human_bytes(std::int64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, units[unit]);
}

}  // namespace tessera::io
