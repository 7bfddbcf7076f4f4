// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  text that may hold anything, on its way to a terminal: names in files of others could move the cursor, or fill
//       the screen.
// Used: error messages, the log, tables.
// Must not know: where the text comes from.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace tessera {

/// `text` with control characters as "\x1b", but for line breaks and tabs. Lines of more than `most` bytes end early,
/// with the number of bytes that are left out.
std::string printable(std::string_view text, std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace tessera
