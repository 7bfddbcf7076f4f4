// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a bound from below of what a run needs, from its sizes alone: what can never fit is refused before plans are
//       made, and no product of sizes that passes is too large for the numbers that count elements and bytes.
// Used: the setup of training runs, benchmarks, text generation.
// Must not know: plans; what fits exactly is known when there is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/model/model.hpp"

namespace tessera::apps {

/// A part of the memory of one rank, in bytes. Floating point: sizes that nobody means are counted too.
struct Need {
  std::string what;  ///< "weights and gradients"
  double bytes = 0;
  std::string hint;  ///< what makes it smaller
};

/// Parameters, as a sum that grows evenly with periods of layers: nothing is built for each of them.
double parameter_count(const ModelConfig& model);

/// What a training run of so many ranks needs at least, per rank.
std::vector<Need> training_needs(const ModelConfig& model, std::int64_t global_batch, const Settings& settings,
                                 int world);

/// What generating a text of so many tokens needs at least. `element_bytes`: of a weight.
std::vector<Need> generation_needs(const ModelConfig& model, std::int64_t tokens, std::int64_t element_bytes);

/// Throws Error{resources} with the needs and the hint of the largest one when they are together more than `limit`.
void check_needs(const std::vector<Need>& needs, std::int64_t limit);

/// Throws Error{configuration} when the tokens of the whole run, or the logits of a micro-batch, cannot be counted.
void check_counts(const ModelConfig& model, std::int64_t global_batch, const Settings& settings);

}  // namespace tessera::apps
