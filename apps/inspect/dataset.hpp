// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what is in a dataset of tokens, as a document.
// Used: inspect.
// Must not know: flags, checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>

#include "apps/document.hpp"

namespace tessera::apps {

enum class Depth : std::uint8_t {
  structure,
  everything,  ///< every byte is read and compared with its checksum
};

/// `sequence`: tokens of a sample, to tell how many there are; 0: not asked. Throws Error{data|not_found|io}.
Document inspect_dataset(const std::filesystem::path& path, std::int64_t sequence, Depth depth);

}  // namespace tessera::apps
