// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  text generation on one rank: the model's plan with cached attention, one token after the other.
// Used: the verb `generate`, tests.
// Must not know: files, tokenizers, how weights were trained.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/model/model.hpp"
#include "core/scheduler/executor.hpp"
#include "core/scheduler/scheduler.hpp"
#include "core/train/tensor_part.hpp"

namespace tessera {

/// How the next token is drawn from the logits.
struct Sampling {
  double temperature = 1;  ///< 0: the most likely token
  double top_p = 1;        ///< only the fewest most likely tokens whose probabilities reach this sum
  std::uint64_t seed = 1;
};

/// The token drawn from `logits`; draw number `draw` of the seed, so that a text is reproducible. Throws
/// Error{numerics} when one is not finite.
std::int32_t sample_token(std::span<const double> logits, const Sampling& sampling, std::uint64_t draw);

class Generator {
 public:
  /// Allocates for texts of up to `capacity` tokens. `dtype` f32 or f64.
  Generator(const ModelConfig& model, std::int64_t capacity, DType dtype, Device& device, const KernelTable& kernels);
  ~Generator();

  /// Weights, to be filled by the caller.
  std::vector<TensorPart> tensors() const;

  /// Feeds the next token of the text; the logits of the one after it. Throws Error{usage} when the text is full.
  const std::vector<double>& feed(std::int32_t token);

  std::int64_t fed() const { return position_; }
  std::int64_t capacity() const { return capacity_; }

 private:
  Mesh mesh_;
  std::int64_t capacity_;
  std::int64_t position_ = 0;
  Compiled compiled_;
  Device& device_;
  AxisCommunicators communicators_;
  std::optional<Arena> arena_;
  std::optional<Executor> executor_;
  std::vector<double> logits_;
};

}  // namespace tessera
