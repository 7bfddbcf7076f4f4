// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the text in one line of JSONL.
// Used: preparing datasets.
// Must not know: files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::io {

/// The string under `key` of the object in `line` (the last one, if the key comes twice). When there is none, empty,
/// and `why` says what is wrong. Never recurses, keeps nothing but that string.
std::optional<std::string> text_of_json(std::string_view line, std::string_view key, std::string& why);

}  // namespace tessera::io
