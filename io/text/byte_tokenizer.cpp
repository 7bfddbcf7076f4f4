// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/text/byte_tokenizer.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"

namespace tessera::io {

void ByteTokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  ids.reserve(ids.size() + text.size());
  for (char c : text) ids.push_back(static_cast<unsigned char>(c));
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (std::int32_t id : ids) {
    if (id < 0 || id > eod())
      throw Error(ErrorKind::data, fmt::format("id {} is not one of the {} of bytes", id, vocab_size()));
    if (id != eod()) text.push_back(static_cast<char>(id));
  }
  return text;
}

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  throw Error(ErrorKind::configuration, fmt::format("there is no tokenizer '{}'", name), "Known are: bytes.");
}

}  // namespace tessera::io
