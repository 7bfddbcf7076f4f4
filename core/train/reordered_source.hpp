// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a batch source whose sequences lie in another order (Strategy::sequence_order).
// Used: the engine; tests that fill inputs as it does.
// Must not know: what the order is for, where data comes from.
#pragma once

#include <span>
#include <vector>

#include "core/scheduler/strategy.hpp"
#include "core/train/batch_source.hpp"

namespace tessera {

/// The order that the strategies ask for; empty when none does. Throws Error{configuration} when several do.
std::vector<Range> sequence_order(std::span<const Strategy* const> strategies, std::int64_t sequence, const Mesh& mesh);

/// Rows of a batch are runs of places, one behind the other; an empty order is that of the source. Both must outlive
/// it.
class ReorderedSource final : public BatchSource {
 public:
  ReorderedSource(BatchSource& source, std::span<const Range> order) : source_(source), order_(order) {}

  /// Asks the source for every run, or part of one, that the view covers.
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override;

  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override {
    return source_.digest(first_sample, samples);
  }

 private:
  BatchSource& source_;
  std::span<const Range> order_;
};

}  // namespace tessera
