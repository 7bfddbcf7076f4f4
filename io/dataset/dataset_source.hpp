// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the samples of a dataset, in the order of a sampler, as the arrays that a model reads.
// Used: the trainer and evaluation, through BatchSource.
// Must not know: meshes; which part is wanted is told by numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/train/batch_source.hpp"
#include "io/dataset/dataset.hpp"
#include "io/dataset/sampler.hpp"

namespace tessera::io {

/// The number of a column that is there for its shape only; all its targets are masked.
inline constexpr std::int64_t k_padding = -1;

enum class DocumentMode : std::uint8_t {
  joined,    ///< attention looks across documents; positions count through the sample; `document` is 0
  isolated,  ///< attention stays inside a document; positions restart with each; `document` counts from 0 in a sample
};

/// Sample n of the stream is sample `sampler.sample(n)` of the dataset. Not shared between threads (it keeps a buffer),
/// but several may read one dataset. Allocates nothing after construction.
class DatasetSource final : public BatchSource {
 public:
  /// `dataset` must outlive the source. Throws Error{data} when ids do not fit the model's vocabulary.
  DatasetSource(const Dataset& dataset, const Sampler& sampler, std::int64_t sequence, DocumentMode mode,
                std::int64_t model_vocabulary);

  /// All arrays of `view` that are not null. The number in `sample` is that in the stream, or k_padding. Throws as
  /// Dataset::read.
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override;

  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override;

 private:
  struct Column;
  void fill_sample(const Column& column, std::int64_t number);
  void fill_documents(const Column& column, std::int64_t first_token) const;

  const Dataset& dataset_;
  Sampler sampler_;
  std::int64_t sequence_;
  DocumentMode mode_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace tessera::io
