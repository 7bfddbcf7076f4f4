// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a built-in model placed on a mesh and differentiated, and its loss and gradients as the naive executor finds them.
// Used: tests of parity with one rank, of finite differences, of collective counts.
// Must not know: plans, programs.
#pragma once

#include <map>
#include <span>
#include <string>

#include "core/model/model.hpp"
#include "core/scheduler/place.hpp"
#include "test/support/tensor_value.hpp"

namespace tessera::test {

/// Whole values by name: of inputs, or of parameters.
using NamedValues = std::map<std::string, Values>;

/// A micro-batch of random tokens: documents with boundaries, positions that start anew in each, very different numbers
/// of masked targets per sequence.
NamedValues random_inputs(const ModelConfig& config, const MicroBatch& micro_batch, std::uint64_t seed);

/// Weights large enough that every gradient is.
NamedValues random_weights(const ModelConfig& config, std::uint64_t seed);

/// The samples [first, first + count) of a micro-batch.
NamedValues samples_of(const NamedValues& inputs, const MicroBatch& micro_batch, std::int64_t first,
                       std::int64_t count);

enum class Backward : std::uint8_t { left_out, added };

class PlacedModel {
 public:
  PlacedModel(const ModelConfig& config, const MicroBatch& micro_batch, const Mesh& mesh,
              std::span<const Strategy* const> strategies, Backward backward = Backward::added);

  struct Result {
    double loss = 0;        ///< Σ mask · cross entropy · seed
    NamedValues gradients;  ///< of that, by parameter
  };
  /// `seed` is what the sum of the loss is multiplied by: 1 ÷ valid tokens of the step.
  Result run(const NamedValues& inputs, const NamedValues& weights, double seed) const;

  const Graph& graph() const { return placed_.graph; }

 private:
  const Mesh& mesh_;
  Placed placed_;
  std::vector<Value> losses_;
  Value seed_;
};

}  // namespace tessera::test
