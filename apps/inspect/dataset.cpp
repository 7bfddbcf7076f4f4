// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/inspect/dataset.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "io/dataset/dataset.hpp"
#include "io/dataset/format.hpp"
#include "io/dataset/sampler.hpp"

namespace tessera::apps {
namespace {

struct Lengths {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
};

Lengths document_lengths(const io::Dataset& dataset) {
  Lengths lengths;
  for (std::int64_t document = 0; document < dataset.documents(); ++document) {
    const std::int64_t length = dataset.document_start(document + 1) - dataset.document_start(document);
    lengths.least = std::min(lengths.least, length);
    lengths.most = std::max(lengths.most, length);
  }
  return lengths;
}

void add_samples(Document& document, const io::Dataset& dataset, std::int64_t sequence) {
  const std::int64_t samples = io::samples_in(dataset.tokens(), sequence);
  document.add("sequence", "tokens of a sample", sequence);
  document.add("samples", "samples per epoch", samples);
  document.add("unused_tokens", "tokens that no epoch uses",
               dataset.tokens() - (samples == 0 ? 0 : samples * sequence + 1));
}

}  // namespace

Document inspect_dataset(const std::filesystem::path& path, std::int64_t sequence, Depth depth) {
  const io::Dataset dataset(path);
  const io::Vocabulary& vocabulary = dataset.vocabulary();
  const Lengths lengths = document_lengths(dataset);
  Document document(fmt::format("dataset {}", path.native()));
  document.add("kind", "kind", "dataset");
  document.add("bytes", "size", Cell::bytes(static_cast<std::int64_t>(std::filesystem::file_size(path))));
  document.add("tokens", "tokens", dataset.tokens());
  document.add("documents", "documents", dataset.documents());
  document.add("shortest_document", "shortest document", lengths.least);
  document.add("longest_document", "longest document", lengths.most);
  document.add("tokenizer", "tokenizer", vocabulary.tokenizer);
  document.add("tokenizer_digest", "tokenizer digest", vocabulary.tokenizer_digest);
  document.add("vocabulary", "vocabulary", vocabulary.size);
  document.add("largest_id", "largest id", dataset.max_id());
  document.add("eod", "id that ends a document", vocabulary.eod);
  document.add("element", "type of an id", name_of(io::dataset_format::element_for(vocabulary.size)));
  document.add("fingerprint", "fingerprint", fmt::format("{:016x}", dataset.fingerprint()));
  if (sequence > 0) add_samples(document, dataset, sequence);
  if (depth == Depth::everything) {
    dataset.verify();
    document.add("verified", "verified", Cell::of_json("OK: every checksum is as it was written", "true"));
  }
  return document;
}

}  // namespace tessera::apps
