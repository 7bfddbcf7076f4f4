// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  training steps of a run on random tokens, measured: the whole step, its ops, and its matrix products alone.
// Used: the benchmarks `step` and `ops`.
// Must not know: how results are shown.
#pragma once

#include <memory>
#include <vector>

#include "apps/bench/random_source.hpp"
#include "apps/bench/trace_costs.hpp"
#include "apps/engine_setup.hpp"
#include "apps/ranks.hpp"
#include "apps/run.hpp"

namespace tessera::apps {

/// Seconds are of this rank.
struct StepTimes {
  std::vector<double> step;      ///< per repetition
  std::vector<double> products;  ///< per repetition: all products of a step one after the other, nothing else
  double product_flops = 0;      ///< of this rank's products in a step
  std::vector<OpCost> ops;       ///< by op and shapes
  double loss = 0;               ///< of the last step, as a sign of life
  double cpu_share = 0;          ///< see CpuShare; of the steps and products
};

class StepBench {
 public:
  /// Makes the engine and its memory. Without model.vocab the vocabulary is that of GPT-2, without train.global_batch a
  /// step is one micro-batch on each rank. Collective; throws AgreedError.
  StepBench(Ranks& ranks, const Run& run);

  const ModelConfig& model() const { return model_; }
  const EngineSetup& setup() const { return *setup_; }
  std::int64_t tokens_per_step() const { return global_batch_ * model_.sequence; }
  DType dtype() const;

  /// Some steps that are not measured. Collective.
  void warm_up();

  /// Warms up, then measures steps and products in turn. Collective.
  StepTimes measure(int repetitions);

  /// Steps only: `products` is empty. Collective.
  StepTimes measure_steps(std::int64_t count);

 private:
  void step();
  void add_step(StepTimes& times, TraceCosts& costs);

  std::unique_ptr<EngineSetup> setup_;
  ModelConfig model_;
  std::int64_t global_batch_ = 0;
  std::unique_ptr<RandomSource> source_;
  std::vector<TraceEvent> events_;
  std::int64_t steps_ = 0;
  double loss_ = 0;
};

}  // namespace tessera::apps
