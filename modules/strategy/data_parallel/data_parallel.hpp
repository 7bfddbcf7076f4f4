// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  data parallelism: the batch is split over `dp`, gradients are summed over it in buckets.
// Used: the module's entry, tests.
// Must not know: how sums are made; other axes.
#pragma once

#include "core/scheduler/strategy.hpp"

namespace tessera {

class DataParallel final : public Strategy {
 public:
  explicit DataParallel(std::int64_t bucket_bytes) : bucket_bytes_(bucket_bytes) {}

  /// Splits the batch dim of every input; everything else follows from the rules of ops.
  void place_input(std::string_view name, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override;

  GradientRest gradient_rest() const override { return GradientRest::replicated; }
  std::int64_t bucket_bytes() const override { return bucket_bytes_; }

 private:
  std::int64_t bucket_bytes_;
};

}  // namespace tessera
