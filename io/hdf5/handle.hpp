// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  owners of HDF5 objects, the turn to call HDF5, and its error stack as an Error.
// Used: the sources of io/hdf5; programs ask how they may end.
// Must not know: what is stored.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/unique_handle.hpp"

namespace tessera::io::hdf5 {

/// hid_t, without its header.
using Id = std::int64_t;

struct ObjectTraits {
  using Handle = Id;
  static Id null() noexcept { return -1; }
  static void close(Id object);
};

/// A file, group, dataset, attribute, type, dataspace or property list.
using Object = UniqueHandle<ObjectTraits>;

/// The turn of one thread to call HDF5, which may not be entered twice. Ranks can be threads of one process, so every
/// function of this folder holds a turn while it calls the library. Also silences the library's own printing.
class Turn {
 public:
  Turn();

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

/// Whether the operating system failed to close a file. HDF5 crashes when it is ended after that, which it is with MPI:
/// the process must end without.
bool must_not_be_ended();

/// What is being done to what, for messages: {"create", "/data/tokens.h5", "/tokens"}.
struct Place {
  std::string_view action;
  std::string_view file;
  std::string_view object = {};
};

/// Throws Error{kind}: "cannot create /tokens in /data/tokens.h5: <what HDF5 says>".
[[noreturn]] void fail(ErrorKind kind, const Place& place);

/// Owns what an HDF5 call returned, or throws as `fail` does.
Object own(Id returned, ErrorKind kind, const Place& place);

/// Throws as `fail` does when a call returned a negative value.
void check(int returned, ErrorKind kind, const Place& place);

}  // namespace tessera::io::hdf5
