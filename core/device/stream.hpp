// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the order of work on a device, as a parameter.
// Used: kernels, communicators, the executor.
// Must not know: what the work is.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

/// Streams are known by what they are for; traces print the role.
enum class StreamRole : std::uint8_t { compute, collective, pipeline, offload_in, offload_out, io };

constexpr std::string_view name_of(StreamRole role) {
  constexpr std::string_view names[] = {"compute", "collective", "pipeline", "offload_in", "offload_out", "io"};
  return names[static_cast<int>(role)];
}

/// An in-order queue of work on one device. On the host, work runs at once on the calling thread.
class Stream {
 public:
  explicit Stream(StreamRole role) : role_(role) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamRole role() const { return role_; }

  /// Returns when all work issued so far is done.
  virtual void synchronize() = 0;

 private:
  StreamRole role_;
};

}  // namespace tessera
