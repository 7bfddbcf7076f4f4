// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one owner for every handle of a foreign library: files, HDF5 objects, MPI communicators, CUDA streams.
// Used: wherever such a handle is kept.
// Must not know: any of these libraries.
#pragma once

#include <concepts>
#include <utility>

namespace tessera {

/// What a handle is: its type, the value that stands for "none", and how it is closed. `close` may throw an Error.
template <class Traits>
concept HandleTraits = requires(typename Traits::Handle handle) {
  { Traits::null() } noexcept -> std::same_as<typename Traits::Handle>;
  Traits::close(handle);
};

/// Owns one handle. Move-only. The destructor closes and never throws; where a failed close loses data (files that
/// were written), call `close()`, which does.
template <HandleTraits Traits>
class UniqueHandle {
 public:
  using Handle = typename Traits::Handle;

  UniqueHandle() noexcept : handle_(Traits::null()) {}
  explicit UniqueHandle(Handle handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      close_quietly();
      handle_ = other.release();
    }
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { close_quietly(); }

  Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Traits::null(); }

  /// Gives the handle away; it will not be closed here.
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Traits::null()); }

  /// Closes now, if there is something to close. Throws what Traits::close throws; the handle is gone either way.
  void close() {
    if (*this) Traits::close(release());
  }

 private:
  void close_quietly() noexcept {
    try {
      close();
    } catch (...) {  // nobody is left to tell: who needs to know calls close()
    }
  }

  Handle handle_;
};

}  // namespace tessera
