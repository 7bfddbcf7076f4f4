// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the checksum of bytes on disk. It catches accidents, not adversaries.
// Used: datasets, manifests of checkpoints.
// Must not know: what the bytes mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::io {

/// Name of the algorithm, as written into files: XXH3 with 64 bits, seed 0.
inline constexpr std::string_view k_hash_name = "xxh3-64";

/// Bytes of file that share one checksum.
inline constexpr std::int64_t k_hash_block = 4 << 20;

std::uint64_t hash_bytes(const void* data, std::int64_t bytes);
inline std::uint64_t hash_bytes(std::string_view text) {
  return hash_bytes(text.data(), static_cast<std::int64_t>(text.size()));
}

/// Sixteen lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);

/// The inverse of to_hex; empty for anything else.
std::optional<std::uint64_t> from_hex(std::string_view text);

}  // namespace tessera::io
