// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the input arrays of a micro-batch, or of the part of it that one rank works on.
// Used: the trainer, evaluation.
// Must not know: meshes; which part is wanted is told by numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/dtype.hpp"
#include "io/dataset/dataset.hpp"
#include "io/dataset/sampler.hpp"

namespace tessera::io {

/// Stands in a list of consumed numbers for a row that is there for its shape only; all its targets are masked.
inline constexpr std::int64_t k_padding = -1;

enum class DocumentMode : std::uint8_t {
  joined,    ///< attention looks across documents; positions count through the sample
  isolated,  ///< attention stays inside a document; positions restart with each
};

/// Where to put the arrays. Each is [s, b] row-major for the part asked for, `sample` is [b]; null ones are left out.
struct BatchView {
  std::int32_t* ids = nullptr;
  std::int32_t* targets = nullptr;   ///< the id that follows
  void* mask = nullptr;              ///< 1 where the target counts, 0 in padding rows
  DType mask_dtype = DType::f32;     ///< f32 or f64
  std::int32_t* position = nullptr;  ///< for rotary and learned positions, and what attention compares
  std::int32_t* index = nullptr;     ///< place in the sample, whatever the documents
  std::int32_t* document = nullptr;  ///< which document of the sample, from 0; zeros when joined
  std::int64_t* sample = nullptr;    ///< the consumed number itself; keys dropout
};

/// Places [begin, end) of every sample.
struct SequencePart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Reads batches. Not shared between threads (it keeps a buffer); allocates nothing after construction.
class BatchReader {
 public:
  /// `dataset` and `sampler` must outlive the reader. Throws Error{data} when ids do not fit the model's vocabulary.
  BatchReader(const Dataset& dataset, const Sampler& sampler, std::int64_t sequence, DocumentMode mode,
              std::int64_t model_vocabulary);

  /// Fills `out` for the samples consumed as these numbers (or k_padding), one per column. Throws as Dataset::read.
  void fill(std::span<const std::int64_t> consumed, SequencePart part, const BatchView& out);

 private:
  struct Column;
  void fill_column(const Column& column);
  void fill_padding(const Column& column);
  void fill_documents(const Column& column, std::int64_t first_token);

  const Dataset& dataset_;
  const Sampler& sampler_;
  std::int64_t sequence_;
  DocumentMode mode_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace tessera::io
