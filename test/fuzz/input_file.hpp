// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  bytes as a file that a reader can open by its path. It has a name: HDF5 asks for the real path, and memory
//       without a name (memfd) has none.
// Used: fuzzers of readers of files.
// Must not know: what the bytes mean.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

/// A file in memory, as long as this lives.
class InputFile {
 public:
  explicit InputFile(std::span<const std::uint8_t> bytes) : file_(mkstemp(path_.data())) {
    if (file_ < 0 || write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  ~InputFile() {
    close(file_);
    unlink(path_.c_str());
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/dev/shm/fuzz-XXXXXX";
  int file_;
};
