// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the tokenizer that needs no files: every byte is an id, 256 ends a document.
// Used: make_tokenizer.
// Must not know: encodings of text.
#pragma once

#include "io/tokenizer.hpp"

namespace tessera::io {

class ByteTokenizer final : public Tokenizer {
 public:
  std::string_view name() const override { return "bytes"; }
  std::string_view digest() const override { return "bytes-257"; }
  std::int64_t vocab_size() const override { return 257; }
  std::int32_t eod() const override { return 256; }
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
};

}  // namespace tessera::io
