// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a stream for calls on the host: work is done when the call returns.
// Used: tests that need no device.
// Must not know: devices.
#pragma once

#include "core/device/stream.hpp"

namespace tessera::test {

class ImmediateStream final : public Stream {
 public:
  ImmediateStream() : Stream(StreamRole::collective) {}
  void synchronize() override {}
};

}  // namespace tessera::test
