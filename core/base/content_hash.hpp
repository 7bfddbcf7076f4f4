// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  128 bits that stand for the content of a text or file (XXH3, not meant against adversaries).
// Used: comparing configuration and modules between ranks.
// Must not know: what is hashed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tessera {

struct ContentHash {
  std::uint64_t high = 0, low = 0;
  friend bool operator==(const ContentHash&, const ContentHash&) = default;
};

ContentHash content_hash(std::string_view bytes);

/// Of a whole file. Throws Error{not_found} or Error{io}.
ContentHash file_content_hash(const std::filesystem::path& path);

/// 32 hexadecimal digits.
std::string to_string(const ContentHash& hash);

}  // namespace tessera
