// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where the trainer gets data from: the samples of a stream by number.
// Used: the engine and the trainer (ask), io and tests (answer).
// Must not know: files, tokenizers, layouts.
#pragma once

#include <cstdint>

#include "core/base/dtype.hpp"
#include "core/mesh/layout.hpp"

namespace tessera {

/// Where to put this rank's part of a micro-batch [s, b]: arrays are dense [tokens.extent[0], tokens.extent[1]],
/// `sample` is [tokens.extent[1]]. Column c of the view is column tokens.start[1] + c of the micro-batch.
struct BatchView {
  Slab tokens;
  std::int32_t* ids = nullptr;
  std::int32_t* target = nullptr;  ///< the token that follows
  void* mask = nullptr;            ///< 1 where the target counts, else 0
  DType mask_dtype = DType::f32;   ///< f32 or f64
  std::int32_t* position = nullptr;
  std::int32_t* index = nullptr;
  std::int32_t* document = nullptr;
  std::int64_t* sample = nullptr;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  /// Column j of the micro-batch is sample first_sample + j of the stream; columns from `samples` on have an all-zero
  /// mask.
  virtual void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) = 0;

  /// A hash of which data the samples are, equal for every layout: the `sample_digest` of metrics.
  virtual std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const = 0;
};

}  // namespace tessera
