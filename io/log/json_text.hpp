// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  writing JSON into a buffer that is kept, without allocating.
// Used: metrics, traces.
// Must not know: what is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::io {

/// Appends a quoted string. Bytes above 127 are taken as they are.
void append_json(std::string& to, std::string_view text);

/// Appends the shortest number that reads back as the same double. What is not finite becomes null.
void append_json(std::string& to, double value);

void append_json(std::string& to, std::int64_t value);

}  // namespace tessera::io
