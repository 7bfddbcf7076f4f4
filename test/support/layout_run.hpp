// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  training a model on thread ranks in any product of tensor, sequence, context, pipeline and data parallelism, and
//       what came of it.
// Used: tests that compare layouts with one rank.
// Must not know: what is compared with what.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/train/batch_source.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::testing_support {

/// How ranks share the work. `context_strategy` and `schedule` are names of modules.
struct LayoutChoice {
  int tensor = 1, context = 1, data = 1, pipeline = 1, chunks = 1;
  bool sequence = false;
  std::string context_strategy = "allgather";
  std::string schedule = "one_f_one_b";
  int expert = 1;

  int ranks() const { return tensor * context * data * pipeline; }
};

/// "tp2+sp cp2(ring) dp1 pp2(zero_bubble x1)"
std::string name_of(const LayoutChoice& layout);

/// Random tokens cut into documents, a share of the targets masked in each sample: a function of the seed and the
/// sample's number.
class RandomSource final : public BatchSource {
 public:
  RandomSource(std::uint64_t seed, std::int64_t vocab, std::int64_t sequence)
      : seed_(seed), vocab_(vocab), sequence_(sequence) {}
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override;
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override;

 private:
  std::uint64_t seed_;
  std::int64_t vocab_, sequence_;
};

struct TrainingShape {
  ModelConfig model;
  DType dtype = DType::f64;
  std::int64_t global_batch = 8, micro_batch = 1, head_pieces = 0;
  double clip = 0;
  std::uint64_t data_seed = 1;
  int steps = 1;
  std::function<void(Engine&)> change = {};  ///< of the weights that the reference formulas give; none: nothing
};

struct TrainingResult {
  std::vector<StepOutcome> steps;
  std::vector<ExpertLayerOutcome> experts;  ///< of the last step
  EvaluationOutcome evaluation;             ///< of one sample more than a step's
  Gathered gradients;                       ///< of step 1
  Gathered weights;                         ///< after the last
  bool ranks_agree = true;                  ///< all ranks report the same outcomes
};

/// Trains from weights that are a function of their names. Throws Error{configuration} when the layout is impossible.
TrainingResult train_layout(const TrainingShape& shape, const LayoutChoice& layout);

/// What differs by more than the PARITY tolerances of fp64 (loss, auxiliary losses and norm relative 1e-10, every
/// gradient 1e-10 of its largest entry + 1e-13 of the norm), or of the loads of experts and of the routers' biases after
/// the last step by anything; empty when nothing does.
std::string difference(const TrainingResult& actual, const TrainingResult& expected);

}  // namespace tessera::testing_support
