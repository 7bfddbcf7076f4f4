// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  bytes of files: reads and writes that are whole or an Error, and the few steps that survive a power cut.
// Used: everything in io that touches a disk.
// Must not know: formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/unique_handle.hpp"

struct stat;

namespace tessera::io {

struct DescriptorTraits {
  using Handle = int;
  static int null() noexcept { return -1; }
  static void close(int descriptor);
};

/// The Error of a failed system call: `what` ("cannot open"), the path, the text of `error_number`, and what to do.
Error system_error(std::string_view what, const std::filesystem::path& path, int error_number);

/// The same where something was to be made: a place where that is impossible is Error{cannot_create}.
Error output_error(std::string_view what, const std::filesystem::path& path, int error_number);

enum class Access : std::uint8_t {
  read,       ///< an existing file
  overwrite,  ///< an existing file, to be written in place; several ranks may do so at once
  create,     ///< a new file, or an old one emptied
  append,     ///< a new file, or the end of an old one
};

/// An open file. All offsets and sizes are in bytes. Short reads and writes are continued. Reads and writes at
/// offsets may be made from several threads.
class File {
 public:
  /// Regular files only: a pipe would make its reader wait, and has neither size nor offsets. Throws
  /// Error{not_found|permission|io}, and Error{cannot_create} for what is to be written.
  File(std::filesystem::path path, Access access);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const;

  /// Whether it still has a name: false when somebody removed it.
  bool exists() const;

  /// Throws Error{data} when the file ends before, Error{io} when the disk fails.
  void read(std::int64_t offset, void* data, std::int64_t bytes) const;
  void write(std::int64_t offset, const void* data, std::int64_t bytes);

  /// At the current end (Access::create, append).
  void append(std::string_view bytes);

  /// Asks the file system to set aside `bytes` from the start. Throws Error{io} when there is no room; does nothing
  /// where the file system cannot.
  void reserve(std::int64_t bytes);

  /// Returns when the content is on the disk.
  void sync();

  /// Closes and reports what the file system had put off. The destructor closes, but is silent.
  void close() { descriptor_.close(); }

 private:
  struct stat examine() const;

  std::filesystem::path path_;
  UniqueHandle<DescriptorTraits> descriptor_;
};

/// Makes renames, creations and removals inside `folder` permanent.
void sync_folder(const std::filesystem::path& folder);

/// rename(2), with an Error.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

/// The whole file. Throws Error{data} when it is larger than `max_bytes`.
std::string read_text(const std::filesystem::path& path, std::int64_t max_bytes);

/// Puts `text` under `path` so that at any moment the old or the new content is there: temporary file, sync, rename,
/// sync of the folder. Leaves no temporary file behind an error.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// Bytes that an ordinary user may still write on the file system of `folder`.
std::int64_t free_bytes(const std::filesystem::path& folder);

/// "1.50 GiB"
std::string human_bytes(std::int64_t bytes);

}  // namespace tessera::io
