// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a stream for calls on the host outside a plan: work is done when the call returns.
// Used: control before and between steps, writers of files, tests.
// Must not know: devices.
#pragma once

#include "core/device/stream.hpp"

namespace tessera {

class ImmediateStream final : public Stream {
 public:
  explicit ImmediateStream(StreamRole role = StreamRole::collective) : Stream(role) {}
  void synchronize() override {}
};

}  // namespace tessera
