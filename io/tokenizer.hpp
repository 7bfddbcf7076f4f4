// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  text to ids and back.
// Used: preparing datasets, generation.
// Must not know: datasets, models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// Immutable once made; may be used by several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string_view name() const = 0;

  /// Equal for tokenizers that give equal ids for all texts. Stored in datasets and checkpoints.
  virtual std::string_view digest() const = 0;

  /// Ids are 0 ... vocab_size() - 1.
  virtual std::int64_t vocab_size() const = 0;

  /// The id that ends a document. No text encodes to it.
  virtual std::int32_t eod() const = 0;

  /// Appends the ids of `text`, which may be any bytes. Adds no eod.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) const = 0;

  /// The bytes of `ids`; eod gives none. Throws Error{data} for an id outside the vocabulary.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
};

/// The tokenizer of this name: "bytes". Throws Error{configuration} that names the known ones.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name);

}  // namespace tessera::io
