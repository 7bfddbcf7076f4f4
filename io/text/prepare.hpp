// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  making a dataset of tokens from files of text.
// Used: `tessera prepare`.
// Must not know: how options are given or reports shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/tokenizer.hpp"

namespace tessera::io {

struct PrepareOptions {
  std::vector<std::string> inputs;  ///< files, patterns, directories: see expand_inputs
  std::filesystem::path output;
  std::string text_key = "text";  ///< of JSONL objects
  std::int64_t max_bad = 0;       ///< bad lines to skip before it is an error
};

struct PrepareReport {
  std::int64_t files = 0;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;             ///< with one end of document each
  std::int64_t text_bytes = 0;         ///< of the documents
  std::int64_t empty = 0;              ///< texts without a byte, skipped
  std::int64_t blank = 0;              ///< lines of JSONL with nothing but white space, skipped
  std::int64_t bad = 0;                ///< lines of JSONL without a text, skipped
  std::vector<std::string> bad_lines;  ///< the first ten: "file:line (byte n): reason"
};

/// Writes one document per text, with the tokenizer's end of document behind it, in the order of the inputs. The output
/// depends on nothing else.
///
/// A plain file is one document, byte for byte. A byte order mark at the start of a file is dropped; CRLF and NUL bytes
/// are text like any other. A line of JSONL is bad when it is not a JSON object in UTF-8 with a string under the key.
///
/// Throws Error{data} with file and line for the first bad line beyond `max_bad`, for compressed input, and when no
/// text is left; Error{cannot_create} as check_output; Error{not_found|permission|io}. The output appears as a whole or not at all.
PrepareReport prepare(const PrepareOptions& options, const Tokenizer& tokenizer);

}  // namespace tessera::io
