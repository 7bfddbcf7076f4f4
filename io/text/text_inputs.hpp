// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which files a list of inputs means.
// Used: preparing datasets.
// Must not know: what is in the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tessera::io {

enum class TextFormat : std::uint8_t {
  plain,  ///< one document per file
  jsonl,  ///< one object per line: .jsonl, .ndjson, .json
};

struct TextInput {
  std::filesystem::path path;
  TextFormat format = TextFormat::plain;
};

/// Inputs in their order. A file stands for itself. A pattern (with * ? [) stands for the files that match, in the
/// order of their bytes. A directory stands for the files ending in .txt .text .md .jsonl .ndjson below it, in the
/// order of their paths, without hidden ones. Throws Error{not_found} for what stands for no file.
std::vector<TextInput> expand_inputs(std::span<const std::string> inputs);

}  // namespace tessera::io
