// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one writer at a time: a small file that says who writes here, locked as long as that process lives.
// Used: folders of checkpoints, the output of `tessera prepare`.
// Must not know: what is written.
#pragma once

#include <chrono>
#include <filesystem>

#include "io/file.hpp"

namespace tessera::io {

class PathLock {
 public:
  /// Makes and locks the file `path`, and writes process and host into it. Where another process holds it, tries for
  /// `patience` (a job that was killed may still be ending) and then throws Error{cannot_create} that names `what` and
  /// that process. The system frees the lock of a process that dies, so a file that was left over stops nobody. File
  /// systems that cannot lock are warned about, and what is no lock of ours is left alone. Throws
  /// Error{cannot_create|permission|io}.
  PathLock(std::filesystem::path path, const std::filesystem::path& what, std::chrono::milliseconds patience);

  /// Removes the file.
  ~PathLock();
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

 private:
  std::filesystem::path path_;
  UniqueHandle<DescriptorTraits> descriptor_;
};

}  // namespace tessera::io
