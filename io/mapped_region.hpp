// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a range of a file as memory, so that all ranks of a node share one copy of it.
// Used: document offsets of datasets.
// Must not know: what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "core/base/unique_handle.hpp"

namespace tessera::io {

struct MappingTraits {
  struct Handle {
    void* address = nullptr;
    std::size_t bytes = 0;
    friend bool operator==(const Handle&, const Handle&) = default;
  };
  static Handle null() noexcept { return {}; }
  static void close(Handle mapping);
};

/// Bytes [offset, offset + bytes) of a file, read-only. They must exist when the region is made: throws Error{data}
/// otherwise. A file that is cut afterwards ends the process with a bus error, so map only what nobody changes.
class MappedRegion {
 public:
  MappedRegion() = default;
  MappedRegion(const std::filesystem::path& path, std::int64_t offset, std::int64_t bytes);

  const std::byte* data() const { return data_; }

  /// The `i`-th value of type T; the region need not be aligned.
  template <class T>
  T at(std::int64_t i) const {
    T value;
    std::memcpy(&value, data_ + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  }

 private:
  UniqueHandle<MappingTraits> mapping_;
  const std::byte* data_ = nullptr;
};

}  // namespace tessera::io
