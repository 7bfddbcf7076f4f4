// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/dataset_writer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "io/dataset/format.hpp"
#include "io/dataset/spool.hpp"
#include "io/file.hpp"
#include "io/hdf5/layout_file.hpp"
#include "io/path_lock.hpp"

namespace tessera::io {
namespace {

std::filesystem::path beside(const std::filesystem::path& path, std::string_view suffix) {
  std::filesystem::path result = path;
  result += suffix;
  return result;
}

void check_vocabulary(const Vocabulary& vocabulary) {
  if (vocabulary.size < 1 || vocabulary.size > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::configuration, fmt::format("a vocabulary of {} ids cannot be stored", vocabulary.size));
  if (vocabulary.eod < 0 || vocabulary.eod >= vocabulary.size) {
    throw Error(ErrorKind::configuration, fmt::format("the end-of-document id {} is outside the vocabulary of {}",
                                                      vocabulary.eod, vocabulary.size));
  }
}

}  // namespace

struct DatasetWriter::State {
  State(std::filesystem::path path, Vocabulary words)
      : output(std::move(path)),
        vocabulary(std::move(words)),
        element(dataset_format::element_for(vocabulary.size)),
        lock(beside(output, ".lock"), output, {}),
        token_spool(beside(output, ".tokens.tmp")),
        document_spool(beside(output, ".documents.tmp")) {}

  /// Narrows ids to the width of the file, a buffer at a time.
  template <class Narrow>
  void spool(std::span<const std::int32_t> ids) {
    std::array<Narrow, 4096> buffer;
    for (std::size_t at = 0; at < ids.size(); at += buffer.size()) {
      const std::span<const std::int32_t> part = ids.subspan(at, std::min(buffer.size(), ids.size() - at));
      for (std::size_t i = 0; i < part.size(); ++i) buffer[i] = static_cast<Narrow>(part[i]);
      token_spool.append(buffer.data(), static_cast<std::int64_t>(part.size() * sizeof(Narrow)));
    }
  }

  hdf5::FileLayout layout() const;
  void write(const std::filesystem::path& path);

  std::filesystem::path output;
  Vocabulary vocabulary;
  hdf5::Element element;
  PathLock lock;
  Spool token_spool;
  Spool document_spool;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int32_t max_id = 0;
};

hdf5::FileLayout DatasetWriter::State::layout() const {
  namespace format = dataset_format;
  const auto blocks = [](const Spool& spool) { return (spool.bytes() + k_hash_block - 1) / k_hash_block; };
  hdf5::FileLayout layout;
  layout.datasets = {{format::k_documents, hdf5::Element::i64, {documents + 1}, {}},
                     {format::k_documents_hash, hdf5::Element::u64, {blocks(document_spool)}, {}},
                     {format::k_tokens_hash, hdf5::Element::u64, {blocks(token_spool)}, {}},
                     {format::k_tokens, element, {tokens}, {}}};
  layout.attributes = {{"format", std::string(format::k_name)},
                       {"version", format::k_version},
                       {"hash", std::string(k_hash_name)},
                       {"tokenizer", vocabulary.tokenizer},
                       {"tokenizer_digest", vocabulary.tokenizer_digest},
                       {"vocab_size", vocabulary.size},
                       {"eod", vocabulary.eod},
                       {"max_id", std::int64_t{max_id}}};
  return layout;
}

void DatasetWriter::State::write(const std::filesystem::path& path) {
  document_spool.append(&tokens, sizeof tokens);
  const std::vector<std::uint64_t>& document_hashes = document_spool.finish();
  const std::vector<std::uint64_t>& token_hashes = token_spool.finish();
  hdf5::FileLayout file_layout = layout();
  hdf5::create_file(path, file_layout);
  File file(path, Access::overwrite);
  file.reserve(file_layout.file_bytes);
  const auto put = [&](std::size_t dataset, const std::vector<std::uint64_t>& values) {
    file.write(file_layout.datasets[dataset].offset, values.data(), static_cast<std::int64_t>(values.size() * 8));
  };
  document_spool.copy_to(file, file_layout.datasets[0].offset);
  put(1, document_hashes);
  put(2, token_hashes);
  token_spool.copy_to(file, file_layout.datasets[3].offset);
  file.sync();
  file.close();
}

DatasetWriter::DatasetWriter(std::filesystem::path output, Vocabulary vocabulary) {
  check_vocabulary(vocabulary);
  state_ = std::make_unique<State>(std::move(output), std::move(vocabulary));
}

DatasetWriter::~DatasetWriter() {
  std::error_code ignored;  // usually there is nothing to remove
  std::filesystem::remove(beside(state_->output, ".tmp"), ignored);
}

void DatasetWriter::append(std::span<const std::int32_t> document) {
  State& state = *state_;
  if (document.empty()) throw Error(ErrorKind::data, fmt::format("document {} has no tokens", state.documents));
  const auto [low, high] = std::minmax_element(document.begin(), document.end());
  if (*low < 0 || *high >= state.vocabulary.size) {
    throw Error(ErrorKind::data, fmt::format("document {} has id {}, the vocabulary has {}", state.documents,
                                             *low < 0 ? *low : *high, state.vocabulary.size));
  }
  state.document_spool.append(&state.tokens, sizeof state.tokens);
  if (state.element == hdf5::Element::u16) {
    state.spool<std::uint16_t>(document);
  } else {
    state.spool<std::uint32_t>(document);
  }
  state.tokens += static_cast<std::int64_t>(document.size());
  state.max_id = std::max(state.max_id, *high);
  ++state.documents;
}

std::int64_t DatasetWriter::documents() const {
  return state_->documents;
}
std::int64_t DatasetWriter::tokens() const {
  return state_->tokens;
}

void DatasetWriter::finish() {
  State& state = *state_;
  if (state.documents == 0) {
    throw Error(ErrorKind::data, fmt::format("{} would have no documents", state.output.native()),
                "Check that the input files have text under the expected key.");
  }
  const std::filesystem::path temporary = beside(state.output, ".tmp");
  state.write(temporary);
  rename_path(temporary, state.output);
  sync_folder(state.output.has_parent_path() ? state.output.parent_path() : std::filesystem::path("."));
}

}  // namespace tessera::io
