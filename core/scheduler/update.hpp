// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the passes around the model: the count of valid tokens that seeds the loss, and the update of the weights.
// Used: the scheduler.
// Must not know: which optimizer, which strategies; addresses.
#pragma once

#include "core/scheduler/optimizer.hpp"
#include "core/scheduler/plan.hpp"
#include "core/scheduler/strategy.hpp"

namespace tessera {

/// Σ mask over the global batch, as an accumulator. Returns the accumulator's total.
Value add_count(Placer& placer, Value mask);

/// The whole count, and loss scale ÷ count: the gradient that every loss starts from.
struct Seed {
  Value count, gradient;
};
Seed add_seed(Placer& placer, Value count);

/// A bucket as values of the graph: [parts, elements], split on dim 0 by the axes that split its parameters, so that
/// the rules of ops see what is one tensor's shards and what is replicated.
struct BucketValues {
  Value weights, gradient;
  std::vector<Value> states;
  Value reduced;  ///< the gradient as it rests
};

/// The update of all trained buckets.
struct Update {
  std::vector<BucketValues> buckets;
  Value decision;
};

/// Reduces every gradient to where it rests, forms the norm (each logical element counts once), decides, updates.
Update add_update(Placer& placer, const std::vector<Bucket>& buckets, GradientRest rest, const Optimizer& optimizer,
                  double clip);

}  // namespace tessera
