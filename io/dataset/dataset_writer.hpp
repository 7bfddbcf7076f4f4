// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  making a dataset: documents of tokens, one behind the other, in one HDF5 file.
// Used: `tessera prepare`, tests.
// Must not know: where the tokens come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace tessera::io {

/// What the ids of a dataset mean.
struct Vocabulary {
  std::string tokenizer;         ///< name of the tokenizer
  std::string tokenizer_digest;  ///< digest of the tokenizer; training refuses another one
  std::int64_t size = 0;         ///< ids are 0 ... size - 1
  std::int64_t eod = 0;          ///< id that ends a document
};

/// Writes `/tokens` (uint16 when the vocabulary has at most 65536 ids, else uint32), `/documents` (int64: the first
/// token of each document, then the number of tokens) and the checksums of both per 4 MiB, `/tokens_hash` and
/// `/documents_hash`. Streams: memory does not grow with the data. Tokens are spooled beside the output first, because
/// a contiguous HDF5 dataset must know its size. The output appears whole, by a rename, or not at all; meanwhile
/// `output`.lock keeps other writers away.
class DatasetWriter {
 public:
  /// Throws Error{configuration} for a vocabulary that makes no sense, Error{cannot_create|permission|io|not_found}.
  DatasetWriter(std::filesystem::path output, Vocabulary vocabulary);
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  /// Appends one document as it is: whoever wants an end-of-document id puts it there. Throws Error{data} for an empty
  /// document and for an id outside the vocabulary.
  void append(std::span<const std::int32_t> document);

  std::int64_t documents() const;
  std::int64_t tokens() const;

  /// Makes the output. Throws Error{data} when there are no documents, Error{io} when the disk fails.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::io
