// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  samples without a dataset that ask much of a layout: random tokens, documents that begin anywhere, very unequal
//       numbers of targets that count.
// Used: the verb `verify`.
// Must not know: models, layouts.
#pragma once

#include "core/train/batch_source.hpp"
#include "io/dataset/dataset_source.hpp"

namespace tessera::apps {

class RandomDocuments final : public BatchSource {
 public:
  RandomDocuments(std::uint64_t seed, std::int64_t vocab, io::DocumentMode mode)
      : seed_(seed), vocab_(vocab), mode_(mode) {}

  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override;
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override;

 private:
  std::int32_t token(std::int64_t sample, std::int64_t place) const;
  bool begins_document(std::int64_t sample, std::int64_t place) const;
  bool counts(std::int64_t sample, std::int64_t place) const;

  std::uint64_t seed_;
  std::int64_t vocab_;
  io::DocumentMode mode_;
};

}  // namespace tessera::apps
