// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  reading a dataset of tokens.
// Used: batches, `tessera inspect`.
// Must not know: samples, their order, ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "io/dataset/dataset_writer.hpp"

namespace tessera::io {

/// An open dataset. All positions are 64-bit. Reading is safe from several threads and allocates nothing.
class Dataset {
 public:
  /// Checks the whole structure: attributes, types, sizes against the file, and the document offsets with their
  /// checksums. Throws Error{data} that says what is wrong, Error{not_found}.
  explicit Dataset(std::filesystem::path path);
  ~Dataset();
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;

  const std::filesystem::path& path() const;
  const Vocabulary& vocabulary() const;
  std::int64_t tokens() const;
  std::int64_t documents() const;
  std::int64_t max_id() const;  ///< largest id, as found when the file was made

  /// Tokens [first, first + out.size()). Throws Error{data} that names document and position when an id is outside the
  /// vocabulary, Error{io} when the disk fails.
  void read(std::int64_t first, std::span<std::int32_t> out) const;

  /// The document that a token belongs to.
  std::int64_t document_of(std::int64_t token) const;

  /// First token of a document; document_start(documents()) is tokens().
  std::int64_t document_start(std::int64_t document) const;

  /// Reads all tokens, or each `parts`-th block of them beginning with block `part`, and compares their checksums.
  /// Throws Error{data} that names the bytes.
  void verify(int part = 0, int parts = 1) const;

  /// Equal for equal content, cheap: a hash of the stored checksums, counts and attributes.
  std::uint64_t fingerprint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::io
